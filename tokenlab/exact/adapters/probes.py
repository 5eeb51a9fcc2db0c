"""Texts with which a tokenizer is tried: what breaks the premises of the paper in one tokenizer or another."""

NAMED = {
    "newlines": ("\n", "\n\n", "\n\na", "\n\n\n b", "a\n\n\nb\n", "\r\n\r\nx", "a\n \n  b", "x \n", " \n\n \n"),
    "spaces": (
        " ",
        "  ",
        "   a",
        "a  b",
        "a   b    c",
        "a" + " " * 24 + "b",
        "a" + " " * 25,
        "\t\tif x:\n\t\t\ty",
        "a \u3000b",
    ),
    "contractions": (
        "don't",
        "I'll",
        "it's'",
        "we'Ve",
        "'s",
        "''re",
        "can't've",
        " 'll",
        "l'eau",
        "d\u2019accord",
        "x'\u017f",
    ),
    "digits": (
        "1234567",
        "12 345",
        "a1b22c333d4444",
        "3.14159",
        "2024-01-31",
        "\u0663\u0664\u0665\u0666",
        "\uff11\uff12\uff13",
        "\u00bd\u00b2",
    ),
    "Chinese": (
        "\u4e2d\u6587",
        "\u8fd9\u662f\u4e00\u4e2a\u6d4b\u8bd5\u3002",
        "\u4e2d\u6587 and English",
        "\u3002\u3002\uff01\uff1f",
        "\U00020000\u3400",
    ),
    "emoji": (
        "\U0001f600",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd!",
        "\u2764\ufe0f",
        "\U0001f1e9\U0001f1ea a",
    ),
    "cases": (
        "HelloWorld",
        "iPhone",
        "McDONALDs",
        "\u0130stanbul",
        "\u01c5ungla",
        "ABC def GHI",
        "\u00c9COLE \u00e9cole",
    ),
    "marks": (
        "e\u0301",
        "\u0928\u092e\u0938\u094d\u0924\u0947",
        "a\u0300\u0301b",
        "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
        "\u0301x",
        "Z\u0351\u036balgo",
    ),
    "punctuation": (
        "...",
        "a,b;c",
        "!!!\n\n",
        "(x)[y]{z}",
        "http://a.b/c?d=e&f",
        "foo_bar",
        " - - ",
        "/* x */\n/y",
        "\u2581a",
        "$\u20ac\u00a3",
    ),
    "controls": ("\0", "a\0b", "\u00a0x", "\u2028y", "\u200b", "\x7f\x85", "\ufeffz", "\U0010fffd", "\ufffd"),
    "special": (
        "<|endoftext|>",
        "<s>a</s>",
        "<0x41>",
        "[INST] x [/INST]",
        "<|im_start|>",
        "[REF]",
        "|||EMAIL_ADDRESS||| |||",
    ),
}
"""By the point of the tokenizer that they try."""


def probe_texts() -> list[str]:
    """The named texts of all groups."""
    return [text for group in NAMED.values() for text in group]
