"""Scores of a model's translations: chrF and BLEU, lengths, decode errors, empty and unfinished outputs.

All are counts, or follow from counts; none depends on time. Decode errors are those of the generated tokens: with byte
fallback, bytes that are not UTF-8; with the bit-level code also prefixes and payloads out of place.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

from sacrebleu.metrics import BLEU, CHRF

from tokenlab.codes.bits.decoding import Decoded, Kind
from tokenlab.translation.generation import Translation


class Output(NamedTuple):
    """A translation, and its text with U+FFFD for what cannot be decoded."""

    translation: Translation
    decoded: Decoded


def scores(outputs: Sequence[Output], references: Sequence[str], bleu: str) -> dict[str, Any]:
    """The scores of one model.

    Args:
        outputs: its translations.
        references: the right ones.
        bleu: sacrebleu's tokenizer.

    Returns:
        By name: `chrf` (character 6-grams, beta 2) and `bleu` from 0 to 100; `output_tokens` without ends; numbers of
        outputs that are `empty` (no text but whitespace), `unfinished` (cut at the longest length) and `broken` (any
        decode error); `errors` by kind, and `errors_ended` in outputs that the model ended, as a cut may split a
        character.
    """
    texts = [output.decoded.text for output in outputs]
    kinds = Counter(error.kind for output in outputs for error in output.decoded.errors)
    return {
        "sentences": len(outputs),
        "chrf": CHRF().corpus_score(texts, [list(references)]).score,
        "bleu": BLEU(tokenize=bleu).corpus_score(texts, [list(references)]).score,
        "bleu_tokenizer": bleu,
        "errors": kinds.total(),
        **{f"errors_{kind}": kinds[kind] for kind in get_args(Kind)},
        "errors_ended": sum(len(output.decoded.errors) for output in outputs if output.translation.ended),
        "broken": sum(bool(output.decoded.errors) for output in outputs),
        "empty": sum(not text.strip() for text in texts),
        "unfinished": sum(not output.translation.ended for output in outputs),
        "output_tokens": sum(len(output.translation.ids) for output in outputs),
        "output_characters": sum(map(len, texts)),
        "reference_characters": sum(map(len, references)),
    }
