"""Meanings built by hand, and what a speaker of each language says."""

import pytest

from tokenlab.generated import LANGUAGES, express
from tokenlab.generated.concepts import Concept, load_lexicon
from tokenlab.generated.meaning import (
    Action,
    Comparison,
    Exclamation,
    Existence,
    Identity,
    Phrase,
    Property,
    Sentence,
)
from tokenlab.text.documents import words


def concept(english_form: str) -> Concept:
    """The first noun, verb, adjective, place name or time with this English form."""
    lexicon = load_lexicon()
    everything = [*lexicon.nouns, *lexicon.verbs, *lexicon.adjectives]
    everything += [item for ranked in lexicon.roles.values() for item in ranked.items]
    return next(item for item in everything if item.row.get("en") == english_form)


def the(noun: str, **parts: object) -> Phrase:
    return Phrase(concept(noun), "the")._replace(**parts)


ANNA = Phrase(
    Concept("name", "any", {"zh": "安娜·林登贝格", "ja": "アンナ", "en": "Anna Hoff", "de": "Anna Hoff", "gender": "f"})
)

# Expected in the order of LANGUAGES: Chinese, Japanese, English, German.
HAND_CHECKED = {
    "past with a classifier": (
        Sentence(
            "statement",
            (Action(concept("buy"), the("teacher"), Phrase(concept("book"), plural=True, cardinal=3), tense="past"),),
        ),
        (
            "老师买了三本书。",
            "先生は三冊の本を買いました。",
            "The teacher bought three books.",
            "Der Lehrer kaufte drei Bücher.",
        ),
    ),
    "aspect, place and accusative": (
        Sentence(
            "statement",
            (
                Action(
                    concept("read"),
                    the("student"),
                    Phrase(concept("novel"), "a", adjective=concept("new")),
                    place=the("library"),
                    tense="progressive",
                ),
            ),
        ),
        (
            "学生正在图书馆里读一部新小说。",
            "学生は図書館で新しい小説を読んでいます。",
            "The student is reading a new novel in the library.",
            "Der Student liest gerade in der Bibliothek einen neuen Roman.",
        ),
    ),
    "disposal": (
        Sentence(
            "statement",
            (Action(concept("sell"), the("farmer"), the("car"), tense="past", disposal=True),),
            polite=False,
        ),
        ("农民把汽车卖掉了。", "農民は車を売った。", "The farmer sold the car.", "Der Bauer verkaufte das Auto."),
    ),
    "passive": (
        Sentence("statement", (Action(concept("write"), the("writer"), the("letter"), tense="past", passive=True),)),
        (
            "信被作家写完了。",
            "手紙は作家に書かれました。",
            "The letter was written by the writer.",
            "Der Brief wurde vom Schriftsteller geschrieben.",
        ),
    ),
    "experience, never": (
        Sentence(
            "statement",
            (
                Action(
                    concept("drink"),
                    Phrase(load_lexicon().pronouns["he"]),
                    Phrase(concept("tea")),
                    tense="perfect",
                    negative=True,
                ),
            ),
        ),
        (
            "他没有喝过茶。",
            "彼はお茶を飲んだことがありません。",
            "He has never drunk tea.",
            "Er hat Tee noch nie getrunken.",
        ),
    ),
    "modal, separable verb and dative": (
        Sentence(
            "statement",
            (Action(concept("take part"), Phrase(load_lexicon().pronouns["I"]), the("exam"), modal="must"),),
        ),
        (
            "我必须参加考试。",
            "私は試験に参加しなければなりません。",
            "I must take part in the exam.",
            "Ich muss an der Prüfung teilnehmen.",
        ),
    ),
    "reason before the main clause": (
        Sentence(
            "statement",
            (
                Action(concept("call"), ANNA, the("doctor"), tense="past"),
                Action(concept("sleep"), the("child"), tense="past", negative=True),
            ),
            "because",
        ),
        (
            "因为安娜·林登贝格给医生打了电话，所以孩子没有睡觉。",
            "アンナが医者に電話したので、子供は眠りませんでした。",
            "Because Anna Hoff called the doctor, the child did not sleep.",
            "Weil Anna Hoff den Arzt anrief, schlief das Kind nicht.",
        ),
    ),
    "relative clauses": (
        Sentence(
            "statement",
            (
                Property(
                    the(
                        "woman", relative=Action(concept("help"), the("woman"), the("man"), tense="past", gap="subject")
                    ),
                    concept("young"),
                    tense="past",
                ),
            ),
        ),
        (
            "帮助了男人的女人很年轻。",
            "男性を助けた女性は若かったです。",
            "The woman who helped the man was young.",
            "Die Frau, die dem Mann half, war jung.",
        ),
    ),
    "relative clause with an object gap and a genitive": (
        Sentence(
            "statement",
            (
                Action(
                    concept("find"),
                    the("police officer"),
                    the("key", relative=Action(concept("lose"), the("child"), the("key"), tense="past", gap="object")),
                    tense="past",
                    time=concept("yesterday"),
                ),
            ),
            time_first=True,
        ),
        (
            "昨天警察找到了孩子弄丢的钥匙。",
            "昨日、警察官は子供が失くした鍵を見つけました。",
            "Yesterday, the police officer found the key that the child lost.",
            "Gestern fand der Polizist den Schlüssel, den das Kind verlor.",
        ),
    ),
    "purpose and companion": (
        Sentence(
            "statement",
            (
                Action(
                    concept("work"),
                    Phrase(load_lexicon().pronouns["she"]),
                    companion=Phrase(concept("friend"), "she"),
                    purpose=Action(concept("bring"), None, the("present")),
                ),
            ),
            polite=False,
        ),
        (
            "为了带来礼物，她跟她的朋友一起工作。",
            "彼女は彼女の友人と一緒にプレゼントを運ぶために、働く。",
            "She works together with her friend in order to bring the present.",
            "Sie arbeitet zusammen mit ihrem Freund, um das Geschenk mitzubringen.",
        ),
    ),
    "comparison": (
        Sentence("statement", (Comparison(the("mountain"), concept("big"), the("house")),), polite=False),
        (
            "山比房子大。",
            "山は家より大きい。",
            "The mountain is bigger than the house.",
            "Der Berg ist größer als das Haus.",
        ),
    ),
    "feminine": (
        Sentence("statement", (Identity(ANNA, Phrase(concept("doctor"), "a", adjective=concept("famous"))),)),
        (
            "安娜·林登贝格是一位有名的医生。",
            "アンナは有名な医者です。",
            "Anna Hoff is a famous doctor.",
            "Anna Hoff ist eine berühmte Ärztin.",
        ),
    ),
    "existence": (
        Sentence("question", (Existence(Phrase(concept("cat"), plural=True, cardinal=2), the("garden")),)),
        (
            "花园里有两只猫吗？",
            "庭には二匹の猫がいますか。",
            "Are there two cats in the garden?",
            "Gibt es im Garten zwei Katzen?",
        ),
    ),
    "who": (
        Sentence(
            "question", (Action(concept("open"), Phrase(load_lexicon().pronouns["who"]), the("door"), tense="past"),)
        ),
        ("谁打开了门？", "誰がドアを開けましたか。", "Who opened the door?", "Wer öffnete die Tür?"),
    ),
    "what": (
        Sentence(
            "question", (Action(concept("eat"), the("girl"), Phrase(load_lexicon().pronouns["what"]), tense="past"),)
        ),
        ("女孩吃了什么？", "女の子は何を食べましたか。", "What did the girl eat?", "Was aß das Mädchen?"),
    ),
    "exclamation": (
        Sentence("exclamation", (Exclamation(Phrase(concept("flower"), "this"), concept("beautiful")),)),
        (
            "这朵花多么漂亮啊！",
            "この花はなんて美しいでしょう！",
            "How beautiful this flower is!",
            "Wie schön diese Blume ist!",
        ),
    ),
    "quotation": (
        Sentence(
            "statement",
            (Property(the("tea"), concept("hot")),),
            frame=Action(concept("say"), the("mother"), tense="past"),
            quoted=True,
        ),
        (
            "母亲说：“茶很热。”",
            "母親は「お茶は熱いです。」と言いました。",
            "The mother said: “The tea is hot.”",
            "Die Mutter sagte: „Der Tee ist heiß.“",
        ),
    ),
    "report": (
        Sentence(
            "statement",
            (Action(concept("travel"), the("tourist"), Phrase(concept("Tokyo")), tense="future"),),
            frame=Action(concept("say"), the("mother"), tense="past"),
        ),
        (
            "母亲说，游客将去东京旅行。",
            "母親は観光客が東京を旅行すると言いました。",
            "The mother said that the tourist will travel to Tokyo.",
            "Die Mutter sagte, dass der Tourist nach Tokio reisen wird.",
        ),
    ),
    "negated indefinite object": (
        Sentence(
            "statement",
            (Action(concept("make"), the("cook"), Phrase(concept("cake"), "a"), tense="past", negative=True),),
        ),
        (
            "厨师没有做一块蛋糕。",
            "料理人はケーキを作りませんでした。",
            "The cook did not make a cake.",
            "Der Koch machte keinen Kuchen.",
        ),
    ),
    "pronoun before the time": (
        Sentence(
            "statement",
            (
                Action(
                    concept("visit"),
                    the("neighbour"),
                    Phrase(load_lexicon().pronouns["he"]),
                    time=concept("yesterday"),
                    tense="past",
                ),
            ),
        ),
        (
            "邻居昨天拜访了他。",
            "隣人は昨日彼を訪ねました。",
            "The neighbour visited him yesterday.",
            "Der Nachbar besuchte ihn gestern.",
        ),
    ),
    "how often": (
        Sentence("statement", (Action(concept("read"), the("child"), the("letter"), time=concept("often")),)),
        (
            "孩子常常读信。",
            "子供はよく手紙を読みます。",
            "The child often reads the letter.",
            "Das Kind liest oft den Brief.",
        ),
    ),
    "negated future": (
        Sentence(
            "statement",
            (Action(concept("help"), Phrase(load_lexicon().pronouns["they"]), ANNA, tense="future", negative=True),),
        ),
        (
            "他们不会帮助安娜·林登贝格。",
            "彼らはアンナを助けません。",
            "They will not help Anna Hoff.",
            "Sie werden Anna Hoff nicht helfen.",
        ),
    ),
    "enumeration": (
        Sentence(
            "statement",
            (
                Action(
                    concept("eat"),
                    the("child"),
                    Phrase(
                        concept("apple"),
                        plural=True,
                        more=(Phrase(concept("bread")), Phrase(concept("egg"), plural=True)),
                    ),
                    tense="past",
                ),
            ),
        ),
        (
            "孩子吃了苹果、面包和鸡蛋。",
            "子供はりんご、パンと卵を食べました。",
            "The child ate apples, bread and eggs.",
            "Das Kind aß Äpfel, Brot und Eier.",
        ),
    ),
}


class TestHandCheckedSentences:
    @pytest.mark.parametrize("name", HAND_CHECKED)
    @pytest.mark.parametrize(("column", "language"), list(enumerate(LANGUAGES)))
    def test_sentence(self, name, column, language):
        meaning, expected = HAND_CHECKED[name]
        assert express(meaning, language, "x").text == expected[column]

    def test_gold_words(self):
        meaning, _ = HAND_CHECKED["disposal"]
        zh, ja, en, de = (words(d.text, d.boundaries or ()) for d in (express(meaning, x, "x") for x in LANGUAGES))
        assert zh == ["农民", "把", "汽车", "卖掉", "了", "。"]
        assert ja == ["農民", "は", "車", "を", "売っ", "た", "。"]
        assert en == ["The", "farmer", "sold", "the", "car", "."]
        assert de == ["Der", "Bauer", "verkaufte", "das", "Auto", "."]

    def test_compound_is_one_word_in_german_and_before_a_suffix_in_chinese(self):
        lexicon = load_lexicon()
        head = next(head for head in lexicon.heads if head.row["en"] == "dealer")
        dealer = lexicon.compound(concept("oil"), head)
        meaning = Sentence("statement", (Property(Phrase(dealer, "the"), concept("rich")),), polite=False)
        assert [words(d.text, d.boundaries or ()) for d in (express(meaning, x, "x") for x in LANGUAGES)] == [
            ["石油商", "很", "富有", "。"],
            ["石油", "商", "は", "豊か", "だ", "。"],
            ["The", "oil", "dealer", "is", "rich", "."],
            ["Der", "Ölhändler", "ist", "reich", "."],
        ]
