"""`tokenlab bits`, as a user runs it."""

import json
from itertools import product

import pytest
from command import ended_here, tokenlab_here
from plain_bits import AmbiguousError, encode, fallback

TEXT = "众A日本語\n\nあ x\\y\r\nカタカナé\U0001f600\n"
LINES = ["众A日本語", "", "あ x\\y", "カタカナé\U0001f600"]


def bits(*arguments, stdin=""):
    """Standard output and standard error of `tokenlab bits ...`."""
    out, error, ended = ended_here("bits", *arguments, stdin=stdin)
    assert ended == 0, error
    return out, error


def complaint(*arguments, stdin):
    return tokenlab_here("bits", *arguments, stdin=stdin, status=2)


def encoded(*arguments, stdin=TEXT):
    return tokenlab_here("bits", "encode", *arguments, stdin=stdin).split("\n")[:-1]


@pytest.fixture
def known(tmp_path):
    path = tmp_path / "known.txt"
    path.write_text("\ufeffA 日\r\n日\\\n\nA\u3000\x1f\U0001f600", encoding="utf-8")
    return path


def test_tokens_of_every_line_and_options_of_the_code():
    assert encoded() == [
        "P:39 N:05E N:097 R B:41 P:39 N:14B N:1A5 N:14E N:0AC P:3A N:055 N:09E",
        "",
        "P:38 N:1C0 N:182 B:20 B:78 B:5C B:79",
        "P:38 N:1C1 N:0AB N:1C1 N:0BF N:1C1 N:0AB N:1C1 N:18A R B:C3 B:A9 B:F0 B:9F B:98 B:80",
    ]
    assert encoded("--prefixes", 3, stdin="あ日") == ["B:E3 B:81 B:82 P:39 N:14B N:1A5"]
    assert encoded("--emission", "change", stdin="日a日\n日") == [
        "P:39 N:14B N:1A5 B:61 N:14B N:1A5",
        "P:39 N:14B N:1A5",
    ]


def test_known_characters(known):
    assert encoded("--known", known, stdin="日本A\\ \u3000\x1f\U0001f600") == [
        "T:日 P:39 N:14E N:0AC T:A T:\\u005C T:\\u0020 T:\\u3000 T:\\u001F T:\U0001f600"
    ]
    assert [json.loads(line) for line in encoded("--known", known, "--json", stdin="日 \\\nB")] == [
        ["T:日", "T: ", "T:\\"],
        ["B:42"],
    ]
    known.write_text("\U000e0001\U0001d173", encoding="utf-8")
    assert encoded("--known", known, stdin="\U000e0001\U0001d173") == ["T:\\U000E0001 T:\\U0001D173"]
    known.write_text("\r\n\n", encoding="utf-8")
    assert encoded("--known", known) == encoded()


@pytest.mark.parametrize("emission", ["run", "change"])
def test_back_again(known, emission):
    for form, more in product(((), ("--json",)), ((), ("--known", known))):
        options = [*form, "--emission", emission]
        tokens = "".join(line + "\n" for line in encoded(*options, *more))
        for given in {(), more}:
            assert bits("decode", *options, *given, stdin=tokens) == ("".join(line + "\n" for line in LINES), "")
    assert bits("decode", stdin="") == ("", "") and encoded(stdin="") == []


def test_paper_mode_names_the_place():
    assert encoded("--mode", "paper", stdin="日本 a\nAB") == ["P:39 N:14B N:1A5 N:14E N:0AC B:20 B:61", "B:41 B:42"]
    error = complaint("encode", "--mode", "paper", stdin="日a\n日A\n")
    assert error.startswith("tokenlab: standard input:2: ") and "41" in error and "lossless" in error


def test_text_that_is_not_utf8():
    data = "日".encode() + b"\xff\xfe" + "本".encode() + b"\x80\nok\r\n\xe4\xbd"
    error = complaint("encode", stdin=data)
    assert "standard input:1: not UTF-8" in error and "0xFF at column 2" in error
    replaced, said = bits("encode", "--on-error", "replace", stdin=data)
    assert bits("decode", stdin=replaced)[0] == "日\ufffd本\ufffd\nok\n\ufffd\n"
    assert said.startswith("tokenlab: 3 places") and "U+FFFD" in said and said.count("\n") == 1
    skipped, said = bits("encode", "--on-error", "skip", stdin=data)
    assert bits("decode", stdin=skipped)[0] == "日本\nok\n\n" and said.endswith(" skipped\n")
    assert bits("encode", "--on-error", "replace", stdin="\ufeff" + TEXT) == bits("encode", stdin=TEXT)


def test_tokens_that_are_no_text():
    """What is wrong with streams of tokens: tests/codes/bits/test_decoding.py."""
    lines = "B:61\nB:61 B:E4 B:BD \n"
    assert "standard input:2: token 2: bytes that are not UTF-8" in complaint("decode", stdin=lines)
    assert "\ufffd" in bits("decode", "--on-error", "replace", stdin=lines)[0]
    assert "\ufffd" not in bits("decode", "--on-error", "skip", stdin=lines)[0]


def test_errors_are_counted():
    out, said = bits("decode", "--on-error", "replace", stdin="P:39 N:1A5 B:62 B:FF\nP:39 N:05E\n\nN:041\n")
    assert out == "\ufffdb\ufffd\n\ufffd\n\nA\n"
    assert said.startswith("tokenlab: 4 places") and "U+FFFD" in said and said.count("\n") == 1
    assert all(f"1 {kind}" in said for kind in ("payload outside", "payload alone", "prefix alone", "not UTF-8"))


NO_TOKENS = ["B:4", "B:5c", "B:100", "N:5C", "N:200", "N:-01", "N:+1F", "P:37", "P:3C", "R:", "r", "X:41", "\x00", "１"]
NO_CHARACTERS = ["T", "T:", "T:ab", "T:\\", "T:\\u41", "T:\\u00e4", "T:\\uD800", "T:\\U00110000", "T:\\x41"]
NO_JSON = ["", "B:41", "[", '["B:41"] ["B:41"]', "[" * 100_000, "9" * 5000]
NO_LIST = ["{}", "null", '["B:41", 65]', '[["B:41"]]', '["T:\\ud800"]', '["T:ab"]', '["B:4"]', '["T:\\\\u0041"]']


def test_what_is_no_token(known):
    for token in NO_TOKENS + NO_CHARACTERS:
        assert "standard input:2: token 2: '" in complaint("decode", stdin=f"\nB:41 {token} B:41\n"), token
    assert "token 2: 'T:x' is not among" in complaint("decode", "--known", known, stdin="T:A T:x")


def test_what_is_no_list_of_tokens():
    for line in NO_JSON + NO_LIST:
        error = complaint("decode", "--json", stdin=f"[]\n{line}\n")
        assert error.startswith("tokenlab: standard input:2: ") and len(error) < 200, line


def measured(*arguments, stdin=TEXT):
    return json.loads(tokenlab_here("bits", "measure", "-", "--json", *arguments, stdin=stdin))


@pytest.mark.parametrize("characters", ["", "A日 タ"])
def test_lengths(known, characters):
    known.write_text(characters, encoding="utf-8")
    found = measured("--known", known)
    assert (found["lines"], found["characters"], found["bytes"]) == (4, 16, sum(len(line.encode()) for line in LINES))
    plain = [fallback(line, characters) for line in LINES]
    raw = [token for line in plain for token in line if token[0] == "B"]
    tokens = sum(map(len, plain))
    assert found["known"] == len(characters) and found["byte_tokens"] == len(raw) / tokens
    assert found["fallback_characters"] == sum(character not in characters for character in "".join(LINES)) / 16
    base, *codes = found["codes"]
    assert (base["code"], base["tokens"], base["saved"]) == ("bytes", tokens, 0)
    assert base["vocabulary"] == 256 + len(characters) and len(codes) == 8
    for code in codes:
        options = code["prefixes"], code["emission"]
        coded = [encode(line, "lossless", *options) for line in plain]
        resets = [line.count(("R", 0)) for line in coded]
        assert code["ambiguous"] == sum(map(bool, resets)) == sum(raises(line, *options) for line in plain)
        assert code["vocabulary"] == 517 + len(characters) and code["saved"] == 1 - code["tokens"] / tokens
        if code["mode"] == "lossless":
            assert (code["tokens"], code["resets"]) == (sum(map(len, coded)), sum(resets))
            column = f"{code['prefixes']}_{code['emission']}"
            assert sum(row[column] for row in found["scripts"]) == code["tokens"]
        elif code["emission"] == "run":
            assert (code["tokens"], code["resets"]) == (sum(map(len, coded)) - sum(resets), 0)
    assert sum(row["bytes"] for row in found["scripts"]) == tokens


def raises(tokens, *options):
    try:
        encode(tokens, "paper", *options)
    except AmbiguousError:
        return True
    return False


def test_lengths_by_script():
    rows = {row["script"]: row for row in measured(stdin="日本A\nあé日\n한\U0001f600")["scripts"]}
    assert rows["Han"] == {
        "script": "Han", "characters": 3, "bytes": 9, "3_run": 8, "4_run": 8, "3_change": 8, "4_change": 8,
        "saved_4_run": 1 - 8 / 9,
    }  # fmt: skip
    assert rows["Hiragana"]["3_run"] == rows["Hiragana"]["4_run"] == 3
    assert (rows["Latin"]["bytes"], rows["Latin"]["3_run"], rows["Latin"]["4_run"]) == (3, 4, 5)
    assert rows["Common"]["4_run"] == 4 and rows["Hangul"]["4_run"] == 3


def test_tables_of_lengths():
    out, error = bits("measure", "-", "--alpha", "inf", stdin=TEXT)
    facts, codes, scripts = (table.split("\n") for table in out.rstrip("\n").split("\n\n"))
    assert "characters\t16" in facts and "alpha\tinf" in facts and not error
    assert len(codes) == 10 and len({row.count("\t") for row in codes}) == 1 and codes[1].startswith("bytes\t\t\t")
    assert len({row.count("\t") for row in scripts}) == 1 and "Katakana\t4\t12\t12\t9" in "".join(scripts)


def test_a_text_of_known_characters_alone_is_said_to_be_one(known):
    known.write_text("日本", encoding="utf-8")
    _, said = bits("measure", "-", "--known", known, stdin="日本")
    assert "share a prefix, the characters of --known aside," in said


def test_bytes_of_known_characters_are_dead(known):
    known.write_text("ab A中")
    every, without = (measured(*more, stdin="ab 中")["codes"][1:] for more in (["--known", known], []))
    # a, b and the space; the byte of A is a payload, too, and bytes of 中 occur in other characters.
    assert [a["dead"] - b["dead"] for a, b in zip(every, without, strict=True)] == [3] * len(every)
