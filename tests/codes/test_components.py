"""The irreversible codes, against entries worked by hand and against a table of stroke counts."""

import gzip
from pathlib import Path

import pytest

from tokenlab.codes.baselines import STROKES, ComponentCode, Kind, learn_components
from tokenlab.codes.corpus import CharacterCorpus, character_corpus
from tokenlab.codes.interface import Unknown, names_of, print_atoms, write_code
from tokenlab.codes.registry import read_code
from tokenlab.core.errors import InputError, ParameterError
from tokenlab.sources.fetch import fetch
from tokenlab.text.readers import read_documents

IDS = "# A table\nU+660E\t明\t⿰日月\nU+6797\t林\t⿰木木\nU+6728\t木\t木\nU+6236\t戶\t⿱丿尸[GT]\t⿱一尸[J]\n"
STROKE_ROWS = "明\tszhhpzhh\n木\thspn\n木\thspz\n林\thspnhspn\n"
TEXT = "林明 木のa"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    (tmp_path / "ids.txt").write_text(IDS, encoding="utf-8")
    (tmp_path / "strokes.tsv").write_text(STROKE_ROWS, encoding="utf-8")
    return tmp_path


def learn(kind: Kind, tables: Path, unknown: Unknown = "error") -> ComponentCode:
    return learn_components(kind, character_corpus([TEXT]), tables, unknown)


def spelt(code: ComponentCode, text: str) -> str:
    return print_atoms(code.encode(text), names_of(code))


def test_radicals_are_the_parts_of_the_entry_and_the_rest_stands_for_itself(tables: Path) -> None:
    code = learn("radical", tables)
    assert spelt(code, TEXT) == "木 木 日 月 \\u0020 木 の a"
    assert code.alphabet == ["\\u0020", "a", "の", "日", "月", "木"]
    assert not code.reversible


def test_strokes_are_those_of_the_first_row(tables: Path) -> None:
    code = learn("stroke", tables)
    assert spelt(code, TEXT) == "㇐ ㇑ ㇒ ㇔ ㇐ ㇑ ㇒ ㇔ ㇑ ㇕ ㇐ ㇐ ㇒ ㇕ ㇐ ㇐ \\u0020 ㇐ ㇑ ㇒ ㇔ の a"
    assert set(code.alphabet) == {*STROKES.values(), "\\u0020", "の", "a"}


def test_the_first_of_several_regions_counts_and_parts_without_a_code_point_stay_whole(tables: Path) -> None:
    with (tables / "ids.txt").open("a", encoding="utf-8") as table:
        table.write("U+4E9C\t亜\t⿱&CDP-8B5E;⿲①口㇯[J]\n")
    code = learn_components("radical", character_corpus(["戶亜"]), tables)
    assert code.components == {"戶": ("丿", "尸"), "亜": ("&CDP-8B5E;", "①", "口")}


def test_only_the_characters_of_the_corpus_have_a_code(tables: Path) -> None:
    code = learn("radical", tables)
    assert sorted(code.components) == sorted(set(TEXT))
    assert code.facts["corpus"] == character_corpus([TEXT]).sha256 and code.facts["entries"] == 3
    with pytest.raises(InputError, match="the code has no '戶'"):
        code.encode("戶")
    assert learn("radical", tables, "skip").encode("戶明戶") == code.encode("明")
    assert spelt(learn("radical", tables, "byte"), "戶明") == "<0xE6> <0x88> <0xB6> 日 月"


def test_check_finds_the_first_violation(tables: Path) -> None:
    code = learn("radical", tables, "byte")
    encoded = code.encode("明戶林")
    assert code.check(encoded) is None
    foreign = code.check(encoded[:6] + "x")
    assert foreign is not None and (foreign.kind, foreign.position) == ("foreign", 6)
    for cut in (encoded[:4] + encoded[5:], encoded[:4] + "x"):  # 日 月 and two of the three bytes, then 木 or x
        violation = code.check(cut)
        assert violation is not None and (violation.kind, violation.position) == ("bytes", 4)
    assert violation.message == "atom 5: escaped bytes that are not UTF-8"


@pytest.mark.parametrize("kind", ["radical", "stroke"])
def test_a_saved_code_is_the_same_code(kind: Kind, tables: Path) -> None:
    code = learn(kind, tables, "byte")
    write_code(code, tables / "code.json")
    again = read_code(tables / "code.json")
    assert again == code and isinstance(again, ComponentCode) and again.facts == code.facts
    assert again.encode(TEXT + "鬱") == code.encode(TEXT + "鬱")


@pytest.mark.parametrize("codes", ['{"林": []}', '{"林": [" "]}', '{"林木": ["木"]}', '{"林": 3}', "[]"])
def test_a_damaged_code_is_one_line(codes: str, tmp_path: Path) -> None:
    path = tmp_path / "code.json"
    head = '"format": "tokenlab code 1", "kind": "radical", "facts": {}, "unknown": "error"'
    path.write_text(f'{{{head}, "codes": {codes}}}', encoding="utf-8")
    with pytest.raises(InputError, match=r"code\.json: a damaged code"):
        read_code(path)


def test_absent_tables_say_how_to_fetch_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ids\.txt: not there; .*:tables@ids"):
        learn("radical", tmp_path)
    with pytest.raises(InputError, match=r"strokes\.tsv: not there; .*:tables@ids"):
        learn("stroke", tmp_path)
    with pytest.raises(ParameterError, match="'pinyin'; use one of"):
        learn("pinyin", tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("ids.txt", "U+6797\t林", "ids.txt, line 6: not a code point"),
        ("ids.txt", "U+6797\t林\t⿰[G]", "ids.txt, line 6: 林 has no component"),
        ("strokes.tsv", "林", "strokes.tsv, line 5: not a character"),
        ("strokes.tsv", "の\thx", "strokes.tsv, line 5: the strokes hx of の"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_place(name: str, line: str, message: str, tables: Path) -> None:
    with (tables / name).open("a", encoding="utf-8") as table:
        table.write(line + "\n")
    with pytest.raises(InputError) as caught:
        learn("radical" if name == "ids.txt" else "stroke", tables)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_the_head_of_upstreams_stroke_table_is_passed_over(tables: Path) -> None:
    code = learn("stroke", tables)
    head = "# Rime dictionary\n#\n\n---\nname: stroke\nsort: by_weight\n...\n\n"
    (tables / "strokes.tsv").write_text(head + STROKE_ROWS, encoding="utf-8")
    assert learn("stroke", tables) == code


def bible(mirror: Path, language: str) -> CharacterCorpus:
    return character_corpus(each.text for each in read_documents(mirror / "bible" / f"{language}.xml.gz", "ces"))


@pytest.mark.parametrize("language", ["Japanese", "Chinese"])
def test_the_real_tables_agree_with_published_stroke_counts(language: str, mirror: Path, tmp_path: Path) -> None:
    fetch("ids", tmp_path, mirror=mirror, progress=False)
    counts: dict[str, set[int]] = {}
    with gzip.open(mirror / "ids" / "ucs-strokes.txt.gz", "rt", encoding="utf-8") as lines:
        for fields in (line.rstrip("\n").split("\t") for line in lines if line.startswith("U+")):
            counts[fields[1]] = set(map(int, fields[2].split(",")))
    counts |= {chr(0x245F + count): {count} for count in range(1, 21)}  # ① to ⑳
    corpus = bible(mirror, language)
    strokes = learn_components("stroke", corpus, tmp_path).components
    radicals = learn_components("radical", corpus, tmp_path).components
    counted = [character for character in corpus.characters if character in counts]
    composed = [character for character in counted if len(radicals[character]) > 1]
    assert len(composed) > 1_600
    assert sum(len(strokes[each]) in counts[each] for each in counted) > 0.99 * len(counted)
    assert all(sum(min(counts[part]) for part in radicals[each]) in counts[each] for each in composed)
