"""Every mistake in a parameter file is one line that names the file and the key; the shipped presets have none."""

import shutil
from pathlib import Path

import pytest
from workspace import ROOT, as_shipped

from tasks.parameters.check import problems_of_preset, problems_of_raw_data
from tokenlab.core.errors import ParameterError

TEXT = as_shipped("params.yaml").decode()
FILES = ("dvc.yaml", "data/raw/dvc.yaml", "data/raw/params.yaml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parameters")
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / ".dvc").mkdir()
    (folder / ".dvc" / "config").write_text("[core]\n    no_scm = true\n")
    return folder


def check(folder: Path, content: str | bytes) -> list[str]:
    (folder / "params.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    return problems_of_preset(folder, Path("dvc.yaml"))[0]


def edited(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


def aliases(line: str) -> str:
    """Lines each of which holds the one before it ten times."""
    return "a0: &a0 {b: 1}\n" + "".join(line.format(n, n, ", ".join([f"*a{n - 1}"] * 10)) + "\n" for n in range(1, 30))


@pytest.mark.parametrize("preset", ["", "presets/answer", "presets/cpu", "presets/news", "presets/paper"])
def test_shipped_presets_are_valid(folder: Path, preset: str) -> None:
    """`paper` too, whose stages ask for GPUs that this machine may lack."""
    root = ROOT if preset else folder  # the user may have added to the one in the root
    (folder / "params.yaml").write_text(TEXT)
    assert problems_of_preset(root, Path(preset, "dvc.yaml"))[0] == []
    assert problems_of_raw_data(ROOT) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": empty"),
        ("- a\n", ": a list, not a mapping"),
        ("corpora:\n\tzh: {}\n", ", line 2: found character"),
        ("a: *b\n", ", line 1: found undefined alias"),
        ("{[1]: 2}", ", line 1: found unhashable key"),
        (b"a: \xe9", ": not UTF-8 at byte 3"),
        ("a:\n  b: 1\n  b: 2\n", ", line 3: 'b' is there twice"),
        ("a:\n " + "[" * 5000 + "]" * 5000, ", line 2: nested more than 50 deep"),
        ("a:\n " + "{b: " * 99 + "1" + "}" * 99, ", line 2: nested more than 50 deep"),
        (aliases("a{}: &a{} [{}]"), ", line 7: more than 1,000,000 values"),
        (aliases("a{}: &a{} {{<<: [{}]}}"), ", line 7: more than 1,000,000 values"),
    ],
)
def test_a_file_that_cannot_be_read(folder: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        check(folder, content)
    assert str(raised.value).startswith(f"params.yaml{message}") and "\n" not in str(raised.value)


def test_anchors_and_merged_keys_are_yaml(folder: Path) -> None:
    ja = "ja: {path: data/raw/builtin/ja, format: parquet, gold: words}"
    assert check(folder, edited(ja, ja.replace("ja: ", "ja: &ja ") + "\n  jb: {<<: *ja, gold: null}")) == []


WRONG_VALUES = [
    ("# Patch models.", "poems: {}\n#", "poems is no parameter"),
    ("\nconcatenated:\n  en-de: {first: en, second: de}", "\nconcatenated:", "concatenated is empty"),
    ("  zh: {path", "  z/h: {path", "corpora.z/h: the name may have"),
    ("  de: {path", "  no: {path", "corpora: a name is read as False"),
    ("vocabulary_size: 12000", "vocabulary_size: -1", "segmentation.bpe: vocabulary_size is -1; "),
    (", train: 0.7, validation: 677}", ", train: 0.7}", "segmentation.split.validation is missing"),
    ("      decoder: viterbi", "      decoder: viturbi", "segmentation.methods.viterbi.decoder is 'viturbi'"),
    ("      isolate: script", "      isolat: script", "segmentation.methods.viterbi.isolat is no parameter"),
    ("{by: entropy, rule: maxima, ", "{by: entrophy, rule: maxima, ", "segmentation.methods.gpt2.by is 'entrophy'"),
    ("{kind: code, code: latom}", "{kind: code, code: atom}", "compared.methods.latom: code is 'atom'"),
    ("{kind: bytes}", "{kind: byte}", "compared.methods.bytes.kind is 'byte'"),
    ("width: 64, heads: 2", "width: 64, heads: 3", "entropy.models.zh: heads is 3; "),
    ("alphas: [2.5, 3]", "alpha: [2.5, 3]", "bits.alphas is missing"),
]
NOT_NUMBERS = [
    ("n_max: 6, count", "n_max: true, count", "segmentation.statistics.n_max is True"),
    ("seeds: [0, 1, 2]", "seeds: [0, 2, true]", "segmentation.seeds.2 is True"),
]
NAMES_OF_NOTHING = [
    ("    ja: {}", "    jp: {}", "segmentation.corpora.jp: jp is not in corpora"),
    ("{first: en, second: de}", "{first: en, second: en-de}", "concatenated.en-de.second: en-de is not in"),
    ("by: words, model: words", "by: words, model: word", "segmentation.methods.words.model: word is not in"),
    ("full: {methods: [viterbi, ", "full: {methods: [", "segmentation.full.methods has combined without viterbi"),
    (
        "shape: {layers: 6, width: 32, heads: 2, context: 32, dropout: 0.0}",
        "shape: {layers: 6, width: 32, heads: 2, context: 32, dropout: 0.1}",
        "exact.markov.third-order.model.shape.dropout is above 0",
    ),
    ("of: words,", "of: word,", "compared.methods.words-patches.of: word is not in compared.methods"),
    ("cap: 6, code: latom", "cap: 6, code: bpe", "compared.methods.latom-patches.code: bpe is not in"),
    ("    unigram: {}", "    unigram: {to: sentencepiece}", "segmentation.export.unigram.to is 'sentencepiece';"),
    (
        "{corpus: zh, methods: [viterbi, ",
        "{corpus: zh, methods: [literal, ",
        "segmentation.own_text.zh-slices.methods:",
    ),
    ("entropy_models/zh", "entropy_models/zhh", "entropy.scored.zh.model: no stage makes"),
    ("data/raw/builtin/ja", "texts/mine.txt", "corpora.ja.path: texts/mine.txt does not exist"),
    (
        "baselines: [character, byte, random]}",
        "baselines: [byte, radical]}",
        "codes.corpora.en.baselines: character is",
    ),
    ("held_out: true}, ", "held_out: true, tables: [byte]}, ", "codes.corpora.en.codebooks.tables: byte is not in"),
    ("sizes: [500], unknown", "sizes: [500, 5000], unknown", "downstream.classification.cuts.sizes: BPE over codes is"),
    ("tokens: [A, B, AA", "tokens: [A, AA", "exact.markov.third-order.vocabularies.mpe: tokens lack 'B', a"),
    ("tokenizer: en, vocabulary: 400", "tokenizer: en, vocabulary: 500", "patches.corpora.en.vocabulary: 500 is"),
    ("patcher: bpe, longest: 6}", "patcher: bpe, longest: 7}", "patches.variants.bpe.longest: 7 is not in"),
    ("zh: {kind: segmented", "de: {kind: segmented", "compare.measured.de: de is not in segmentation.corpora"),
]


@pytest.mark.parametrize("mistakes", [WRONG_VALUES, NOT_NUMBERS, NAMES_OF_NOTHING], ids=["values", "numbers", "names"])
def test_every_mistake_is_a_line(folder: Path, mistakes: list[tuple[str, str, str]]) -> None:
    text = TEXT
    for old, new, _ in mistakes:
        assert old in text
        text = text.replace(old, new, 1)
    found = check(folder, text)
    for *_, message in mistakes:
        assert any(line.startswith(f"params.yaml: {message}") for line in found), (message, found)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\ncodes:\n", "\ncodez:\n", "codes is missing"),
        ("  de: {path", "  null: {path", "corpora: a name is read as None"),
        ("  de: {path", "  2020-01-01: {path", "corpora: a name is read as datetime.date"),
        ("preset: sample", "preset: cpu", "preset is 'cpu'; "),
        ("    zh: {entropy: true}", "    zh: {}\n    de: {entropy: true}", "segmentation.corpora.de.entropy is true,"),
        (
            "  zh: {path: data/raw/builtin/zh, format: parquet, gold: words}",
            "  zh: {path: data/raw/builtin/zh, format: parquet}",
            "segmentation.own_text.zh-slices.corpus: zh has no gold words",
        ),
    ],
)
def test_a_mistake_that_hides_others(folder: Path, old: str, new: str, message: str) -> None:
    assert any(line.startswith(f"params.yaml: {message}") for line in check(folder, edited(old, new)))


def test_a_text_of_ones_own(folder: Path) -> None:
    mine = edited("  zh: {path", "  mine: {path: texts/mine.txt, format: text, gold: null}\n  zh: {path")
    (folder / "texts/mine.txt").unlink(missing_ok=True)
    assert len(check(folder, mine)) == 1
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "texts/mine.txt").touch()
    assert check(folder, mine) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A dog\nruns\n", "segmentation.corpora.mine: texts/mine.txt has no character"),
        ("\udcff", "corpora.mine.path: "),
        ("A dog\n狗\n", None),
    ],
)
def test_a_text_without_a_word_to_find(folder: Path, text: str, message: str | None) -> None:
    """The stage word_model would refuse it, after others have run."""
    mine = edited("  zh: {path", "  mine: {path: texts/mine.txt, format: text, gold: null}\n  zh: {path")
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "texts/mine.txt").write_bytes(text.encode(errors="surrogateescape"))
    found = check(folder, mine.replace("    ja: {}\n", "    ja: {}\n    mine: {}\n", 1))
    assert [line.startswith(f"params.yaml: {message}") for line in found] == [True] * (message is not None)


def test_parameters_of_the_raw_data(tmp_path: Path) -> None:
    (tmp_path / "data/raw").mkdir(parents=True)
    (tmp_path / "data/raw/params.yaml").write_text("builtin: {sentences: many, seed: 0}\n")
    wrong, missing = problems_of_raw_data(tmp_path)
    assert wrong.startswith("data/raw/params.yaml: builtin.sentences is 'many'; ")
    assert missing.startswith("data/raw/params.yaml: builtin.questions is missing")
