"""What bit-level codes save on Bibles and on news, where the most frequent characters of the text are tokens."""

from itertools import islice, pairwise

import pytest

from tasks.bits.length import Texts, over_characters, rows_of_base
from tokenlab.codes.bits.counting import count_symbols
from tokenlab.text.readers import read_documents
from tokenlab.text.store import write_corpus

KNOWN = (0, 500, 1000, 3000)
CORPORA = {
    # Path and format; per cent saved with three and with four prefixes where no character is known.
    "chinese": ("bible/Chinese.xml.gz", "ces", (18.2, 18.3)),
    "japanese": ("bible/Japanese.xml.gz", "ces", (0.8, 22.1)),
    "korean": ("bible/Korean.xml.gz", "ces", (9.5, 9.5)),
    # methods.md has 19.2, measured on other lines.
    "news": ("pku/pd199801_train.utf8.gz", "sighan", (19.0, 19.1)),
}


@pytest.mark.parametrize("name", CORPORA)
def test_savings(name, mirror, tmp_path):
    path, form, expected = CORPORA[name]
    write_corpus(islice(read_documents(mirror / path, form), 0, None, 15), tmp_path / "corpus")
    texts = Texts(tmp_path / "corpus")
    contents = texts.contents()
    saved = []
    for number in KNOWN:
        base = over_characters(contents.most_frequent(number), number)
        counts = count_symbols((base.symbols(batch) for batch in texts.batches()), base.others)
        rows = [row for row in rows_of_base(base, counts, contents, [2.5]) if row["code"] == "bits"]
        assert all(row["tokens"] - row["resets"] <= row["bytes_tokens"] for row in rows)
        default = [row for row in rows if (row["mode"], row["emission"]) == ("lossless", "run")]
        saved.append([100 * row["saved"] for row in sorted(default, key=lambda row: row["prefixes"])])
    assert saved[0] == pytest.approx(expected, abs=0.5)
    for before, after in pairwise(saved):
        assert all(0 <= later <= earlier for earlier, later in zip(before, after, strict=True))
    assert max(saved[-1]) < 0.1
