"""Whether there is something to segment in one's own texts: word models refuse a text of scripts with spaces alone."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import regex

from tasks.parameters.sections import Sections
from tokenlab.core.errors import InputError
from tokenlab.segment.isolation import run_sets
from tokenlab.text.readers import read_documents


def check_scripts(root: Path, sections: Sections, not_made: Mapping[str, str]) -> Iterator[str]:
    """A line for each text in `segmentation` without a character of a script that is written without spaces, and for
    each that cannot be read. not_made: place in the parameters -> a path that is there before any stage runs."""
    family = sections.segmentation
    segmented = regex.compile(f"[{''.join(run_sets())}]").search
    for name in family.corpora:
        corpus = sections.corpora.get(name)
        if corpus is None or f"corpora.{name}.path" not in not_made or not family.word_models:
            continue
        try:
            texts = read_documents(root / corpus.path, corpus.format, text_key=corpus.text_key, sources=corpus.sources)
            if not any(segmented(document.text) for document in texts):
                yield (
                    f"segmentation.corpora.{name}: {corpus.path} has no character of a script written without spaces "
                    "(Chinese, kana, Thai, Lao, Khmer, Burmese, Tibetan), and word models find no words in others; "
                    f"take {name} out of segmentation, the other families take every script"
                )
        except InputError as error:
            yield f"corpora.{name}.path: {error}"
