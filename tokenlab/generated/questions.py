"""Questions in English over generated paragraphs, in the formats of HellaSwag and LAMBADA.

They let the preset `sample` run the zero-shot tasks of language models without a download; scores on them compare with
nothing. Paragraphs are drawn as for the built-in corpora, from other random numbers, so no question is in a corpus.
"""

import json
import random
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import TypedDict

from tokenlab.core.errors import ParameterError
from tokenlab.core.files import write_text
from tokenlab.generated.corpora import express
from tokenlab.generated.lexicon import load_lexicon
from tokenlab.generated.meanings import Paragraph

FILES = {"hellaswag": "hellaswag.jsonl", "lambada_openai": "lambada.jsonl"}
"""Task of lm-evaluation-harness -> file that `write_questions` writes."""

_SHORTEST = 4
"""Letters of the shortest word to be guessed; shorter ones are mostly pronouns and particles."""


class Ending(TypedDict):
    """A question with four endings, as in HellaSwag (Zellers et al. 2019)."""

    ind: int
    activity_label: str
    ctx: str
    endings: list[str]
    label: int


class LastWord(TypedDict):
    """A text whose last word is to be guessed, as in LAMBADA (Paperno et al. 2016)."""

    text: str


def endings(*, questions: int, seed: int) -> Iterator[Ending]:
    """Paragraphs with four sentences that may come next; the true one shares their topic and their two names.

    Args:
        questions: their number; question i does not depend on it.
        seed: the same seed gives the same questions everywhere.

    Returns:
        Questions with the fields of HellaSwag's files; `activity_label` is the topic of the paragraph, and the wrong
        endings are the first sentences of three other paragraphs.

    Raises ParameterError for a negative number of questions.
    """
    return (_ending(seed, number) for number in range(_checked(questions)))


def last_words(*, questions: int, seed: int) -> Iterator[LastWord]:
    """Paragraphs cut after a word that occurs earlier in them, in another sentence: the text before it names it.

    Args:
        questions: their number; question i does not depend on it.
        seed: the same seed gives the same questions everywhere.

    Raises ParameterError for a negative number of questions.
    """
    return islice(_last_words(seed), _checked(questions))


def write_questions(folder: Path, *, questions: int, seed: int) -> None:
    """Write the questions of both tasks as JSON lines, `FILES` in `folder`, which is made if it is missing.

    Raises ParameterError for a negative number of questions.
    """
    for task, draw in (("hellaswag", endings), ("lambada_openai", last_words)):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in draw(questions=questions, seed=seed)]
        write_text(folder / FILES[task], "".join(lines))


def _ending(seed: int, number: int) -> Ending:
    (topic, sentences), *others = [_paragraph(f"tokenlab/endings/{seed}/{number}/{part}") for part in range(4)]
    order = list(range(4))
    random.Random(f"tokenlab/order/{seed}/{number}").shuffle(order)
    candidates = [sentences[-1], *(other[0] for _, other in others)]
    return Ending(
        ind=number,
        activity_label=topic.capitalize(),
        ctx=" ".join(sentences[:-1]),
        endings=[candidates[index] for index in order],
        label=order.index(0),
    )


def _last_words(seed: int) -> Iterator[LastWord]:
    for number in count():
        _, sentences = _paragraph(f"tokenlab/words/{seed}/{number}")
        for last in range(len(sentences) - 1, 0, -1):
            text = sentences[last].rstrip(".!?”")
            word = text.rsplit(" ", 1)[-1]
            earlier = " ".join(sentences[:last])
            if len(word) >= _SHORTEST and word.isalpha() and word in _words(earlier):
                yield LastWord(text=f"{earlier} {text}")
                break


def _words(text: str) -> set[str]:
    return {word.strip(".,:!?“”") for word in text.split()}


def _paragraph(seed: str) -> tuple[str, list[str]]:
    """Topic and sentences, 3 to 9, of a paragraph."""
    paragraph = Paragraph(load_lexicon(), random.Random(seed))
    return paragraph.topic, [express(sentence, "en", "").text for sentence in paragraph.sentences()]


def _checked(questions: int) -> int:
    if questions < 0:
        raise ParameterError(f"questions is {questions}: take 0 or more")
    return questions
