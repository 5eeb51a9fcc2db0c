"""Text over all of Unicode, rich in what makes grapheme clusters, and sentences of many scripts."""

import unicodedata

import regex
from hypothesis import strategies as st

_ALL = "".join(map(chr, [*range(0xD800), *range(0xF900, 0x33480), *range(0xE0000, 0xE1000)]))
"""All that is assigned, but for private use."""
_BREAKS = ["CR", "LF", "Control", "Extend", "Prepend", "SpacingMark", "L", "V", "T", "LV", "LVT", "ZWJ", "RI", "Other"]
_CONJUNCTS = ["Consonant", "Linker", "Extend"]
_SCRIPTS = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Latin", "Common", "Inherited"]
_SETS = [
    *(rf"\p{{GCB={value}}}" for value in _BREAKS),
    *(rf"\p{{InCB={value}}}" for value in _CONJUNCTS),
    r"\p{Extended_Pictographic}",
    *(rf"\p{{Script={script}}}" for script in _SCRIPTS),
    r"\p{M}&&\p{GCB=Other}",
    r"\p{Cf}",
    r"\p{Nd}",
]


def is_utf8(data):
    """Whether bytes are whole characters."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _member(members):
    """A character of a set; unlike `sampled_from`, without all of them in its name."""
    found = "".join(regex.findall(f"(?V1)[{members}]+", _ALL))
    return st.integers(0, len(found) - 1).map(lambda place: found[place])


character = st.one_of(st.characters(exclude_categories=["Cs"]), *map(_member, _SETS))
text = st.text(character, max_size=12)

# Scripts that put spaces between words: no word is cut. Composed and decomposed forms are written by escapes.
SPACED = {
    "English": "It isn't 3.14% of naïve café-goers, e.g. x@y.org.",
    "Finnish": "Tämä on hyvä päivä, sanoi äiti öisin Åbossa.",
    "German": "Straße, Größe und Übermut: 1.000 Füße.",
    "Vietnamese": "Tiếng Việt được viết bằng chữ Quốc ngữ.",
    "Vietnamese, decomposed": "Tie\u0302\u0301ng Vie\u0323\u0302t \u0111u\u031bo\u031b\u0323c vie\u0302\u0301t ra.",
    "Russian": "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Greek, polytonic": "Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν· 12.",
    "Hebrew, with points": "בְּרֵאשִׁית בָּרָא אֱלֹהִים אֵת הַשָּׁמַיִם וְאֵת הָאָרֶץ׃",
    "Arabic": "بِسْمِ اللَّهِ الرَّحْمٰنِ الرَّحِيمِ، ١٢٣ كتابًا",
    "Persian": "می\u200cخواهم کتاب\u200cها را ۱۲ بار بخوانم.",
    "Hindi": "क्षत्रिय विद्यार्थी हिन्दी में पढ़ते हैं। १२३",
    "Gujarati": "ઈશ્વરે જગત પર એટલો પ્રેમ કર્યો કે",
    "Tamil": "ஸ்ரீ தமிழ் மொழி கற்றுக்கொள்கிறேன்",
    "Korean": "나는 한국어를 3년 공부했다.",
    "Korean, decomposed": unicodedata.normalize("NFD", "한국어를 배운다"),
    "Tai Tham": "\u1a20\u1a63\u1a3e \u1a23\u1a65\u1a61",
    "Georgian": "ყველა ადამიანი იბადება თავისუფალი",
    "Cherokee": "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
}
# Scripts without: segments are found by statistics.
UNSPACED = {
    "Chinese": "我们在北京大学学习汉语。",
    "Japanese": "私はコーヒーを飲みながら日本語を勉強しています。",
    "Thai": "ฉันกำลังเรียนภาษาไทยที่มหาวิทยาลัย ๑๒๓",
    "Lao": "ຂ້ອຍກຳລັງຮຽນພາສາລາວ ໑໒",
    "Khmer": "ខ្ញុំរៀនភាសាខ្មែរនៅសាលា។",
    "Burmese": "ကျွန်တော် မြန်မာစာကို လေ့လာနေပါတယ်။",
    "Tibetan": "བོད་ཡིག་སློབ་སྦྱོང་བྱེད་བཞིན་ཡོད།",
}
SYMBOLS = {
    "emoji": "👩‍👩‍👧‍👦👍🏽❤️1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿!",
    "flags": "🇫🇷🇩🇪🇯🇵🇫",
    "marks alone": "\u0301 \u0e34ก \u0301a",
}
SENTENCES = SPACED | UNSPACED | SYMBOLS
_LIKE_TOKENS = ["<0x41>", "<0xFF><0x00>", "<|unk|>", "a<|endoftext|> b", "<pad>", "<|im_start|>", "a\u2581b", "\u2581"]
_LIKE_TOKENS += ["  \t\n\r\n \u3000 x", "\x00\x1f\x85\u2028", ""]
like_tokens = st.lists(text | st.sampled_from(_LIKE_TOKENS), max_size=4).map("".join)
"""Text with parts that look like pieces and special tokens, and whitespace of all kinds."""
