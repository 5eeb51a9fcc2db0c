"""Figures and the page, from small results of computing stages."""

import re
from functools import partial
from pathlib import Path

import bits_inputs
import patch_report_inputs
import pytest
import report_inputs as inputs

from tasks.report.page import report

pytestmark = pytest.mark.slow

FAMILIES = {
    "segmentation": (["zh", "plain"], inputs.write_segmentation, "words"),
    "models": (["zh"], inputs.write_model, "models"),
    "codes": (["en"], partial(inputs.write_codes, codes=inputs.CODES | {"toy": None}), "codes"),
    "exact": (["tokens"], inputs.write_exact, "exact"),
    "bits": (["ja", "ko"], bits_inputs.write_bits, "bits-savings"),
    "translation": (["en-ja", "en-ko"], bits_inputs.write_translation, "bits-translation"),
    "patches": (["de"], patch_report_inputs.write_patches, "patches"),
    "zero_shot": (["fr"], patch_report_inputs.write_zero_shot, "patch-zero-shot"),
    "measured": (["zh"], inputs.write_measures, "measures"),
    "classified": (["verses"], inputs.write_classification, "classification-f1-transformer"),
    "generated": (["verses"], inputs.write_generation, "generation"),
}
"""Family -> its corpora, what writes the results of one, and the section of the page."""


def build(folder: Path, *families: str) -> Path:
    """Results of these families, drawn and laid out below the folder; the folder of the reports."""
    stage = inputs.stage(**{family: FAMILIES[family][0] for family in families})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for family in families:
            names, write, _ = FAMILIES[family]
            for name in names:
                if family == "segmentation":
                    write(stage, name, gold=name == "zh", entropy=name == "zh")
                else:
                    write(stage, name)
        report(stage)
    return folder / "reports/small"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A preset with corpora with and without gold words, and results of every family."""
    return build(tmp_path_factory.mktemp("report"), *FAMILIES)


@pytest.fixture(scope="module")
def page(built: Path) -> str:
    return (built / "index.html").read_text(encoding="utf-8")


def pictures(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.svg")}


def test_a_corpus_has_the_pictures_that_it_has_data_for(built):
    figures = built / "figures"
    zh = pictures(figures / "segmentation/zh")
    assert zh == {"distributions", "lambda", "thresholds", "sentence", "cut", "entropy"}
    assert pictures(figures / "segmentation/plain") == {"distributions", "sentence"}
    assert pictures(figures / "codes/en") == {"bpe", "likelihood", "tables"}
    assert pictures(figures / "codes/overview") == {"tokens", "perplexity", "bits"}
    assert pictures(figures / "exact") == {"bias"}
    assert pictures(figures / "exact/markov") == {"chain-seed0", "chain-seed1"}
    assert pictures(figures / "exact/language_models") == {"tokens"}
    assert pictures(figures / "bits") == {"savings", "search", "translation", "loss"}
    assert pictures(figures / "patches") == {"tokens", "lengths", "training", "vocabulary", "longest"}
    svg = {path.with_suffix("") for path in figures.glob("**/*.svg")}
    assert svg == {path.with_suffix("") for path in figures.glob("**/*.png")}


def test_links_lead_to_sections_that_are_there(page):
    names, links = set(re.findall(r' id="([^"]+)"', page)), set(re.findall(r'href="#([^"]+)"', page))
    assert links <= names and {"summary", "glossary", "words-zh", "words-plain", "codes-en", "measures"} <= links
    assert {"own-text", "exact-chain", "exact-models", "exact-trained", "bits-search", "patch-longest"} <= names
    gold, plain = page[page.index('id="words-zh"') :].split('id="words-plain"')
    assert "validation sentences" in gold and "nothing is tuned" in plain


def test_wide_tables_keep_their_result_in_sight(page):
    headers = re.findall(r'<thead><tr>((?:<th scope="col".*?</th>)+)', page)
    wide = [header for header in headers if header.count("<th ") > 5 and "prompt" not in header]
    assert len(wide) > 10 and all(re.search(r'class="result\b', header) for header in wide)


def test_letters_are_defined_once(page):
    names = re.findall(r'<path [^>]*id="([^"]+)"', page)
    assert len(names) == len(set(names)) and set(re.findall(r'<use [^>]*href="#([^"]+)"', page)) <= set(names)


def test_the_codebook_and_the_traced_text_are_on_the_page(built, page):
    assert (built / "figures/codes/en/codebook.html").read_text(encoding="utf-8") in page
    assert "⟨" in (built / "figures/codes/en/trace.json").read_text(encoding="utf-8")


def test_tables_quote_no_corpus(built, page):
    """Tables are in git; the page is not."""
    tables = [path.read_text(encoding="utf-8") for path in (built / "tables").iterdir()]
    samples = patch_report_inputs.EXAMPLE["prompt"]
    for quoted in ("prompts that end inside a token", bits_inputs.EXAMPLE["reference"], samples):
        assert quoted in page and not any(quoted in table for table in tables)


SAMPLE = ("segmentation", "zero_shot", "generated")


@pytest.mark.parametrize(
    "family",
    [None, *(name if name in SAMPLE else pytest.param(name, marks=pytest.mark.nightly) for name in FAMILIES)],
)
def test_other_families_may_be_empty(family, tmp_path):
    page = (build(tmp_path, *([family] if family else [])) / "index.html").read_text(encoding="utf-8")
    shown = {some for some, (_, _, section) in FAMILIES.items() if f'id="{section}"' in page}
    assert shown - {"models"} == ({family, "patches"} if family == "zero_shot" else {family}) - {None, "models"}
