"""Meanings built by hand, and what a speaker of each language says."""

import pytest

from tokenlab.generated import LANGUAGES, express
from tokenlab.generated.lexicon import Concept, load_lexicon
from tokenlab.generated.meanings import Meaning, action, phrase
from tokenlab.text.documents import words


def concept(english_form: str) -> Concept:
    """The first noun, verb, adjective, place name or time with this English form."""
    groups = load_lexicon().groups
    everything = [*groups["nouns"], *groups["verbs"], *groups["speech"], *groups["adjectives"]]
    everything += [item for items in groups.values() for item in items]
    return next(item for item in everything if item.get("en") == english_form)


def sentence(kind: str, clauses: tuple[Meaning, ...], relation: str = "", **features: object) -> Meaning:
    second = clauses[1] if relation else None
    return {"kind": kind, "clause": clauses[0], "second": second, "relation": relation, "polite": True, **features}


def described(type_: str, subject: Meaning, adjective: str = "", **features: object) -> Meaning:
    quality = concept(adjective) if adjective else None
    return {"type": type_, "subject": subject, "adjective": quality, "tense": "present", **features}


def the(noun: str, **parts: object) -> Meaning:
    return phrase(concept(noun), "the", **parts)


PRONOUNS = load_lexicon().pronouns
ANNA = phrase(Concept(kind="name", zh="安娜·林登贝格", ja="アンナ", en="Anna Hoff", de="Anna Hoff", gender="f"))

# Expected in the order of LANGUAGES: Chinese, Japanese, English, German.
HAND_CHECKED = {
    "past with a classifier": (
        sentence(
            "statement",
            (action(concept("buy"), the("teacher"), phrase(concept("book"), plural=True, cardinal="3"), tense="past"),),
        ),
        (
            "老师买了三本书。",
            "先生は三冊の本を買いました。",
            "The teacher bought three books.",
            "Der Lehrer kaufte drei Bücher.",
        ),
    ),
    "aspect, place and accusative": (
        sentence(
            "statement",
            (
                action(
                    concept("read"),
                    the("student"),
                    phrase(concept("novel"), "a", adjective=concept("new")),
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
        sentence(
            "statement",
            (action(concept("sell"), the("farmer"), the("car"), tense="past", disposal=True),),
            polite=False,
        ),
        ("农民把汽车卖掉了。", "農民は車を売った。", "The farmer sold the car.", "Der Bauer verkaufte das Auto."),
    ),
    "passive": (
        sentence("statement", (action(concept("write"), the("writer"), the("letter"), tense="past", passive=True),)),
        (
            "信被作家写完了。",
            "手紙は作家に書かれました。",
            "The letter was written by the writer.",
            "Der Brief wurde vom Schriftsteller geschrieben.",
        ),
    ),
    "experience, never": (
        sentence(
            "statement",
            (
                action(
                    concept("drink"),
                    phrase(PRONOUNS["he"]),
                    phrase(concept("tea")),
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
        sentence(
            "statement",
            (action(concept("take part"), phrase(PRONOUNS["I"]), the("exam"), modal="must"),),
        ),
        (
            "我必须参加考试。",
            "私は試験に参加しなければなりません。",
            "I must take part in the exam.",
            "Ich muss an der Prüfung teilnehmen.",
        ),
    ),
    "reason before the main clause": (
        sentence(
            "statement",
            (
                action(concept("call"), ANNA, the("doctor"), tense="past"),
                action(concept("sleep"), the("child"), tense="past", negative=True),
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
        sentence(
            "statement",
            (
                described(
                    "property",
                    the(
                        "woman", relative=action(concept("help"), the("woman"), the("man"), tense="past", gap="subject")
                    ),
                    "young",
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
        sentence(
            "statement",
            (
                action(
                    concept("find"),
                    the("police officer"),
                    the("key", relative=action(concept("lose"), the("child"), the("key"), tense="past", gap="object")),
                    tense="past",
                    time=concept("yesterday"),
                    time_first=True,
                ),
            ),
        ),
        (
            "昨天警察找到了孩子弄丢的钥匙。",
            "昨日、警察官は子供が失くした鍵を見つけました。",
            "Yesterday, the police officer found the key that the child lost.",
            "Gestern fand der Polizist den Schlüssel, den das Kind verlor.",
        ),
    ),
    "purpose and companion": (
        sentence(
            "statement",
            (
                action(
                    concept("work"),
                    phrase(PRONOUNS["she"]),
                    companion=phrase(concept("friend"), "she"),
                    purpose=action(concept("bring"), None, the("present")),
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
        sentence("statement", (described("comparison", the("mountain"), "big", other=the("house")),), polite=False),
        (
            "山比房子大。",
            "山は家より大きい。",
            "The mountain is bigger than the house.",
            "Der Berg ist größer als das Haus.",
        ),
    ),
    "feminine": (
        sentence(
            "statement",
            (described("identity", ANNA, object=phrase(concept("doctor"), "a", adjective=concept("famous"))),),
        ),
        (
            "安娜·林登贝格是一位有名的医生。",
            "アンナは有名な医者です。",
            "Anna Hoff is a famous doctor.",
            "Anna Hoff ist eine berühmte Ärztin.",
        ),
    ),
    "existence": (
        sentence(
            "question",
            (described("existence", phrase(concept("cat"), plural=True, cardinal="2"), place=the("garden")),),
        ),
        (
            "花园里有两只猫吗？",
            "庭には二匹の猫がいますか。",
            "Are there two cats in the garden?",
            "Gibt es im Garten zwei Katzen?",
        ),
    ),
    "who": (
        sentence("question", (action(concept("open"), phrase(PRONOUNS["who"]), the("door"), tense="past"),)),
        ("谁打开了门？", "誰がドアを開けましたか。", "Who opened the door?", "Wer öffnete die Tür?"),
    ),
    "what": (
        sentence("question", (action(concept("eat"), the("girl"), phrase(PRONOUNS["what"]), tense="past"),)),
        ("女孩吃了什么？", "女の子は何を食べましたか。", "What did the girl eat?", "Was aß das Mädchen?"),
    ),
    "exclamation": (
        sentence("exclamation", (described("exclamation", phrase(concept("flower"), "this"), "beautiful"),)),
        (
            "这朵花多么漂亮啊！",
            "この花はなんて美しいでしょう！",
            "How beautiful this flower is!",
            "Wie schön diese Blume ist!",
        ),
    ),
    "quotation": (
        sentence(
            "statement",
            (described("property", the("tea"), "hot"),),
            frame=action(concept("say"), the("mother"), tense="past"),
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
        sentence(
            "statement",
            (action(concept("travel"), the("tourist"), phrase(concept("Tokyo")), tense="future"),),
            frame=action(concept("say"), the("mother"), tense="past"),
        ),
        (
            "母亲说，游客将去东京旅行。",
            "母親は観光客が東京を旅行すると言いました。",
            "The mother said that the tourist will travel to Tokyo.",
            "Die Mutter sagte, dass der Tourist nach Tokio reisen wird.",
        ),
    ),
    "negated indefinite object": (
        sentence(
            "statement",
            (action(concept("make"), the("cook"), phrase(concept("cake"), "a"), tense="past", negative=True),),
        ),
        (
            "厨师没有做一块蛋糕。",
            "料理人はケーキを作りませんでした。",
            "The cook did not make a cake.",
            "Der Koch machte keinen Kuchen.",
        ),
    ),
    "pronoun before the time": (
        sentence(
            "statement",
            (
                action(
                    concept("visit"),
                    the("neighbour"),
                    phrase(PRONOUNS["he"]),
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
        sentence("statement", (action(concept("read"), the("child"), the("letter"), time=concept("often")),)),
        (
            "孩子常常读信。",
            "子供はよく手紙を読みます。",
            "The child often reads the letter.",
            "Das Kind liest oft den Brief.",
        ),
    ),
    "negated future": (
        sentence(
            "statement",
            (action(concept("help"), phrase(PRONOUNS["they"]), ANNA, tense="future", negative=True),),
        ),
        (
            "他们不会帮助安娜·林登贝格。",
            "彼らはアンナを助けません。",
            "They will not help Anna Hoff.",
            "Sie werden Anna Hoff nicht helfen.",
        ),
    ),
    "enumeration": (
        sentence(
            "statement",
            (
                action(
                    concept("eat"),
                    the("child"),
                    phrase(
                        concept("apple"),
                        plural=True,
                        next=phrase(concept("bread"), next=phrase(concept("egg"), plural=True)),
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
        head = next(head for head in lexicon.groups["heads"] if head["en"] == "dealer")
        dealer = lexicon.compound(concept("oil"), head)
        meaning = sentence("statement", (described("property", phrase(dealer, "the"), "rich"),), polite=False)
        assert [words(d.text, d.boundaries or ()) for d in (express(meaning, x, "x") for x in LANGUAGES)] == [
            ["石油商", "很", "富有", "。"],
            ["石油", "商", "は", "豊か", "だ", "。"],
            ["The", "oil", "dealer", "is", "rich", "."],
            ["Der", "Ölhändler", "ist", "reich", "."],
        ]
