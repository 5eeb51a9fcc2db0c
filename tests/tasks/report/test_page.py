"""The drawing stages and the page, from small results of computing stages."""

import re
from pathlib import Path

import bits_inputs
import patch_report_inputs
import pytest
import report_inputs as inputs

from tasks.report.draw_bits import draw as draw_bits
from tasks.report.draw_codes import draw as draw_codes
from tasks.report.draw_exact import draw as draw_exact
from tasks.report.draw_patches import draw as draw_patches
from tasks.report.draw_segmentation import draw as draw_segmentation
from tasks.report.page import report

pytestmark = pytest.mark.slow

DRAWINGS = (draw_segmentation, draw_codes, draw_exact, draw_bits, draw_patches)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A preset with corpora with and without gold words, and results of every family, drawn and laid out."""
    folder = tmp_path_factory.mktemp("report")
    families = {"segmentation": ["zh", "plain"], "codes": ["en"], "models": ["zh"], "exact": ["tokens"]}
    families |= {
        "bits": ["ja", "ko"],
        "patches": ["de"],
        "zero_shot": ["fr"],
        "measured": ["zh"],
        "classified": ["verses"],
        "generated": ["verses"],
    }
    stage = inputs.stage(**families, translation=["en-ja", "en-ko"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        inputs.write_segmentation(stage, "zh", entropy=True)
        inputs.write_segmentation(stage, "plain", gold=False)
        inputs.write_model(stage, "zh")
        inputs.write_codes(stage, "en", inputs.CODES | {"toy": None})
        inputs.write_exact(stage, "tokens")
        inputs.write_measures(stage, "zh")
        inputs.write_classification(stage, "verses")
        inputs.write_generation(stage, "verses")
        for name in ("ja", "ko"):
            bits_inputs.write_bits(stage, name)
            bits_inputs.write_translation(stage, f"en-{name}")
        patch_report_inputs.write_patches(stage, "de")
        patch_report_inputs.write_zero_shot(stage, "fr")
        for draw in DRAWINGS:
            draw(stage)
        report(stage)
    return folder / "reports/small"


def pictures(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.svg")}


def test_a_corpus_has_the_pictures_that_it_has_data_for(built):
    figures = built / "figures/segmentation"
    assert pictures(figures / "zh") == {"distributions", "lambda", "thresholds", "sentence", "entropy"}
    assert pictures(figures / "plain") == {"distributions", "sentence"}
    assert pictures(built / "figures/codes/en") == {"bpe", "likelihood", "tables"}
    assert pictures(built / "figures/codes/overview") == {"tokens", "perplexity", "bits"}
    assert pictures(built / "figures/exact") == {"bias"}
    assert pictures(built / "figures/exact/markov") == {"chain-seed0", "chain-seed1"}
    assert pictures(built / "figures/exact/language_models") == {"tokens"}
    assert pictures(built / "figures/bits") == {"savings", "search", "translation", "loss"}
    assert pictures(built / "figures/patches") == {"tokens", "lengths", "training", "vocabulary", "longest"}


def test_every_picture_is_png_and_svg(built):
    svg = {path.with_suffix("") for path in built.glob("figures/**/*.svg")}
    assert svg == {path.with_suffix("") for path in built.glob("figures/**/*.png")}


def test_the_page_has_a_section_for_each_corpus(built):
    page = (built / "index.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in ("words-zh", "words-plain", "own-text", "models", "codes-en"))
    assert all(f'id="{name}"' in page for name in ("exact", "exact-chain", "exact-models", "exact-trained"))
    assert all(f'id="{name}"' in page for name in ("bits", "bits-search", "bits-translation", "measures"))
    assert all(f'id="{name}"' in page for name in ("patches", "patch-vocabulary", "patch-longest", "patch-zero-shot"))
    gold, plain = page[page.index('id="words-zh"') :].split('id="words-plain"')
    assert "tuned on validation sentences" in gold and "Without gold words nothing is tuned" in plain
    for section in (gold, plain):
        assert "methods as plain tokenizers" in section and "unigram-9 is left out: no room" in section


def test_summary_glossary_and_navigation_lead_to_sections_that_are_there(built):
    page = (built / "index.html").read_text(encoding="utf-8")
    names, links = set(re.findall(r' id="([^"]+)"', page)), set(re.findall(r'href="#([^"]+)"', page))
    assert links <= names and {"summary", "glossary", "words-zh", "codes-en", "bits", "patches", "measures"} <= links
    assert page.index('id="summary"') < page.index('id="glossary"') < page.index('id="words"')
    assert page.count('<details class="paper">') == 7
    summary = page[page.index('id="summary"') : page.index('id="glossary"')]
    assert "zh, word F1 of segments" in summary or "BPE tokens at" in summary
    glossary = page[page.index('id="glossary"') : page.index('id="words"')]
    assert all(f"<dt>{symbol}" in glossary for symbol in ("λ", "ν", "θ", "|C|", "N, K", "pre-cut, raw", "†", "bold, ≈"))
    assert '<td class="ours label">viterbi' in page and "†: a method of this project" in page


def test_tables_keep_their_result_in_sight_and_texts_are_named(built):
    page = (built / "index.html").read_text(encoding="utf-8")
    headers = re.findall(r'<thead><tr>((?:<th scope="col".*?</th>)+)', page)
    wide = [header for header in headers if header.count("<th ") > 5 and "prompt" not in header]
    without = [re.findall(r"<th[^>]*>([^<]*)", header) for header in wide if 'class="result"' not in header]
    assert len(wide) > 10 and not without
    texts = page[page.index('id="texts"') : page.index("</details>", page.index('id="texts"'))]
    assert "your own text" in texts


def test_letters_are_defined_once(built):
    page = (built / "index.html").read_text(encoding="utf-8")
    names = re.findall(r'<path [^>]*id="([^"]+)"', page)
    assert len(names) == len(set(names)) and set(re.findall(r'<use [^>]*href="#([^"]+)"', page)) <= set(names)


def test_the_codebook_and_the_traced_text_are_on_the_page(built):
    page = (built / "index.html").read_text(encoding="utf-8")
    assert (built / "figures/codes/en/codebook.html").read_text(encoding="utf-8") in page
    assert "⟨" in (built / "figures/codes/en/trace.json").read_text(encoding="utf-8")


def test_results_txt_has_the_main_tables(built):
    text = (built / "tables/results.txt").read_text(encoding="utf-8")
    assert text.startswith("generated text\n\nzh: statistics and BPE") and text.count("generated text") == 1
    assert "codes-en-bpe" not in text
    assert "plain tokenizers" not in text and (built / "tables/export-zh.md").exists()
    assert "zh-alone: zh, 2 slices of 1,000 characters" in text
    assert "Bits per character of held-out sentences" in text and "mean ± sd of 3 prompts" not in text
    assert (built / "tables/markov-chain-mpe.md").exists()
    assert "Tokens saved over byte fallback" in text and "Translation of 100 test sentences" in text
    assert "Patch models at equal training FLOPs" in text and "Zero-shot tasks" in text
    assert "What the patch models cost" not in text and (built / "tables/patch-costs.csv").exists()
    assert "zh: tokens for the same 10 texts, against English" in text
    assert "bits per token" not in text and (built / "tables/bits-entropy.md").exists()
    assert (built / "tables/segmentation-zh-full.csv").exists() and (built / "tables/codes-en-bpe.md").exists()


def test_tables_quote_no_corpus(built):
    """Tables are in git; the page is not."""
    page = (built / "index.html").read_text(encoding="utf-8")
    tables = [path.read_text(encoding="utf-8") for path in (built / "tables").iterdir()]
    samples = patch_report_inputs.EXAMPLE["prompt"]
    for quoted in ("prompts that end inside a token", bits_inputs.EXAMPLE["reference"], samples):
        assert quoted in page and not any(quoted in table for table in tables)


WRITERS = {
    "segmentation": inputs.write_segmentation,
    "codes": inputs.write_codes,
    "exact": inputs.write_exact,
    "bits": bits_inputs.write_bits,
    "translation": bits_inputs.write_translation,
    "patches": patch_report_inputs.write_patches,
    "measured": inputs.write_measures,
    "classified": inputs.write_classification,
    "generated": inputs.write_generation,
}
SECTIONS = {"segmentation": "words", "codes": "codes", "exact": "exact", "bits": "bits-savings"}
SECTIONS |= {"translation": "bits-translation", "patches": "patches", "measured": "measures"}
SECTIONS |= {"classified": "classification-f1-transformer", "generated": "generation"}


@pytest.mark.parametrize("family", [*WRITERS, None])
def test_a_family_may_be_empty(family, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "en-ja" if family == "translation" else "en"
    stage = inputs.stage(**{family: [name]} if family else {})
    if family:
        WRITERS[family](stage, name)
    for draw in DRAWINGS:
        draw(stage)
    report(stage)
    page = stage.reports("index.html").read_text(encoding="utf-8")
    assert {some for some, id in SECTIONS.items() if f'id="{id}"' in page} == {family} - {None}
    assert "patch-zero-shot" not in page
