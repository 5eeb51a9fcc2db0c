"""The page of a comparison: what it shows, that nothing comes from elsewhere, and how a browser takes it."""

import re
from html.parser import HTMLParser
from math import log

import pytest
from browser import open_browser

from tokenlab.comparison.page import page_of
from tokenlab.comparison.result import result_of, samples_of, text_of
from tokenlab.comparison.texts import Parts
from tokenlab.comparison.trials import DocumentScores, Score
from tokenlab.language.coding import ByteCoder, PatchCoder
from tokenlab.language.ngrams import fewest_nats
from tokenlab.patches.by_bytes import SpacePatcher

HELD_OUT = ["A sentence & <b>its</b> ways of cutting", "ein kürzerer Satz, naïve"]
TRAINING = [f"{'a sentence' if number % 3 else 'another one'} and its ways".ljust(40) for number in range(40)]
SETTINGS = {
    "text": "a<b>.txt",
    "flops": 1e9,
    "seeds": 2,
    "held_out_bytes": 60,
    "body": "2 layers",
    "again": "tokenlab x",
    "context_bytes": 32,
}


def score(nats):
    return Score(DocumentScores([nats, nats], [40, 27], 67, 1e6), 20, 1000, 1e9, 5, 256, [(500, 2.0)])


def result_on(held_out, scale=1.0):
    scores = {"bytes": [score(50.0 * scale), score(51.0 * scale)], "space": [score(90.0 * scale), score(92.0 * scale)]}
    about = {name: {"made": "", "load": f"read({name})"} for name in scores}
    coders = {"bytes": ByteCoder(), "space": PatchCoder(SpacePatcher())}
    return result_of(scores, coders, Parts(TRAINING, held_out), SETTINGS, about)


@pytest.fixture(scope="module")
def result():
    return result_on(HELD_OUT)


class Outside(HTMLParser):
    """What a page would fetch or run."""

    found: list

    def handle_starttag(self, tag, attrs):
        self.found += [tag] * (tag in ("script", "img", "iframe"))
        self.found += [value for name, value in attrs if name in ("src", "href") and value != "data:,"]


def test_the_page_needs_nothing_from_elsewhere_and_escapes_texts(result):
    page, parser = page_of(result), Outside()
    parser.found = []
    parser.feed(page)
    assert not parser.found and "url(" not in page and "@import" not in page
    assert "<b>its" not in page and "a&lt;b&gt;.txt" in page and result["answer"] in page


def test_tokens_spell_the_sample(result):
    page = page_of(result)
    for sample in result["samples"]:
        for spans in sample["cuts"].values():
            assert spans[0][0] == 0 and spans[-1][1] == len(sample["text"])
    cuts = re.findall(r'<div dir="auto">(.*?)</div>', page)
    text = re.sub(r"<[^>]*>", "", cuts[-1]).replace("&amp;", "&")
    assert text == result["samples"][-1]["text"]
    assert [sample["text"] for sample in result["samples"]] == samples_of(HELD_OUT)


def test_a_long_line_is_cut_as_a_whole():
    """A token that goes on where the line is no longer shown is left out, not cut off."""
    (sample,) = result_on(["a long " + "x" * 90])["samples"]
    assert sample["text"] == "a long " + "x" * 49 and sample["cuts"]["bytes"][-1] == [55, 56]
    assert "".join(sample["text"][start:end] for start, end in sample["cuts"]["space"]) in ("a long", "a long ")


@pytest.mark.parametrize(
    ("scale", "worse", "said"),
    [
        (0.1, [], "more than any candidate."),
        (1.6, ["space"], "fewer than the models over: space."),
        (9, ["bytes", "space"], "every"),
    ],
)
def test_ngrams_of_as_much_text_as_the_best_reads(scale, worse, said):
    """The best reads 1,000 bytes of 1,600: of 80 passages 50."""
    found = result_on(HELD_OUT, scale)
    passages, held_out = ([part for text in texts for part in (text[:32], text[32:])] for texts in (TRAINING, HELD_OUT))
    counted = [passages[number * 80 // 50] for number in range(50)]
    bits = (
        fewest_nats(counted, [part for part in held_out if part])
        / log(2)
        / sum(len(text.encode()) for text in HELD_OUT)
    )
    assert found["ngrams"]["bits_per_byte"] == bits
    assert found["ngrams"]["counted_bytes"] == sum(map(len, counted))
    assert found["ngrams"]["better_than"] == worse
    assert said in found["ngrams"]["said"] and found["ngrams"]["said"] in page_of(found)
    assert f"{bits:.4f} bits per byte" in text_of(found)


@pytest.mark.slow
def test_a_browser_shows_it_without_errors(result, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(page_of(result), encoding="utf-8")
    with open_browser(tmp_path) as browser:
        text = browser.read(path.as_uri(), until="How it was made")
        assert result["answer"] in text
        assert browser.evaluate("performance.getEntriesByType('resource').length") == 0
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
