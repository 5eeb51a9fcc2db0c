"""Stage `evaluate_translation`: translations of the test verses by every model of a pair, and their scores.

A row for each model. The relative gain of a code is the number of tokens of the references with byte fallback
divided by their number in this code; times measured tokens a second it gives the perceived ones (`python -m benchmarks
translation`). Nothing here is timed. Beside the loss of the models stands that of n-grams of the targets.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from sacrebleu.metrics import BLEU, CHRF

from tasks.bits.translation import (
    BITS,
    BYTES,
    NEVER,
    SCRATCH,
    Encoded,
    Pilot,
    Variant,
    Verse,
    align,
    encode_verses,
    read_codes,
    read_parameters,
    split_verses,
    variants_of,
)
from tasks.runtime.pool import in_processes
from tasks.runtime.stage import Stage, read_json, run, write_json
from tasks.runtime.tables import nested, write_table
from tokenlab.codes.bits.decoding import Decoded, Kind
from tokenlab.core.errors import InputError
from tokenlab.language.ngrams import fewest_nats
from tokenlab.translation.generation import Translation, translate
from tokenlab.translation.model import load_model
from tokenlab.translation.pairs import Sentences

_OF_TRAINING = ("vocabulary", "steps", "best_step", "epochs", "held_out_nats_per_token", "held_out_nats_per_character")


class Output(NamedTuple):
    """A translation, and its text with U+FFFD for what cannot be decoded."""

    translation: Translation
    decoded: Decoded


def evaluate(stage: Stage) -> None:
    """Write the table, metrics and examples."""
    pair, pilot = read_parameters(stage)
    aligned = align(*(stage.data("corpora", name) for name in (pair.source, pair.target)))
    models = stage.models("translation", stage.variant)
    _, codes = read_codes(models, pilot.code)
    parts = split_verses(aligned.verses, pilot.split)
    test = encode_verses(parts.test, codes, pilot.longest)
    if not test.verses:
        raise InputError(f"{stage.variant}: every test verse has more than {pilot.longest} tokens; raise longest")

    variants = variants_of(pilot)
    jobs = [(variant, test.pairs[variant.code].source) for variant in variants]
    results = in_processes(partial(_translated, models, pilot), jobs, pilot.workers, "translating")
    translated = dict(zip(variants, results, strict=True))
    training = read_json(stage.reports("translation_models", stage.variant, "metrics.json"))
    validation = encode_verses(parts.validation, codes, pilot.longest).verses
    of_pair = {
        "in_training": parts.test_in_training,
        "too_long": len(parts.test) - len(test.verses),
        "known_characters": training["base"]["characters"],
        "fallback_ratio": training["base"]["fallback_ratio"]["target"],
        "ngram_nats_per_character": _ngram_nats(parts.training, validation),
    }
    rows = [
        {
            "name": stage.variant,
            "pair": stage.variant,
            **variant._asdict(),
            **scores(outputs, [verse.target for verse in test.verses], pair.bleu),
            **_lengths(test, variant.code),
            "parameters": weights,
            **{name: training["models"][variant.name][name] for name in _OF_TRAINING},
            **of_pair,
        }
        for variant, (outputs, weights) in translated.items()
    ]
    reports = stage.reports("translation", stage.variant)
    write_table(reports / "scores.parquet", rows)
    write_json(reports / "metrics.json", nested(rows, "code", "init", "seed"))
    write_json(reports / "examples.json", {"pair": stage.variant, "examples": _examples(test, translated, pilot)})


def _translated(models: Path, pilot: Pilot, job: tuple[Variant, Sentences]) -> tuple[list[Output], int]:
    """The outputs of a model, and the number of its weights. models: the folder of the pair, with its base vocabulary.
    job: the model, and what it translates."""
    variant, sources = job
    model = load_model(models / variant.name)
    decode = read_codes(models, pilot.code)[1][variant.code].decode
    found = translate(model, sources, pilot.generation, NEVER, variant.name)
    return [Output(one, decode(one.ids)) for one in found], model.num_parameters()


def scores(outputs: Sequence[Output], references: Sequence[str], bleu: str) -> dict[str, Any]:
    """The scores of one model.

    Args:
        outputs: its translations.
        references: the right ones.
        bleu: sacrebleu's tokenizer.

    Returns:
        By name: `chrf` (character 6-grams, beta 2) and `bleu` from 0 to 100; `output_tokens` without ends; numbers of
        outputs that are `empty` (no text but whitespace), `unfinished` (cut at the longest length) and `broken` (any
        decode error); `errors` by kind, and `errors_ended` and `broken_ended` of the outputs that the model ended, as a
        cut may split a character.
    """
    ended = [output for output in outputs if output.translation.ended]
    texts = [output.decoded.text for output in outputs]
    kinds = Counter(error.kind for output in outputs for error in output.decoded.errors)
    return {
        "sentences": len(outputs),
        "chrf": CHRF().corpus_score(texts, [list(references)]).score,
        "bleu": BLEU(tokenize=bleu).corpus_score(texts, [list(references)]).score,
        "bleu_tokenizer": bleu,
        "errors": kinds.total(),
        **{f"errors_{kind}": kinds[kind] for kind in get_args(Kind)},
        "errors_ended": sum(len(output.decoded.errors) for output in ended),
        "broken": sum(bool(output.decoded.errors) for output in outputs),
        "broken_ended": sum(bool(output.decoded.errors) for output in ended),
        "empty": sum(not text.strip() for text in texts),
        "unfinished": len(outputs) - len(ended),
        "output_tokens": sum(len(output.translation.ids) for output in outputs),
        "output_characters": sum(map(len, texts)),
        "reference_characters": sum(map(len, references)),
    }


def _lengths(test: Encoded, code: str) -> dict[str, Any]:
    """Tokens of the references without ends, and the relative gain of a code."""
    tokens = {name: len(pairs.target.ids) - len(pairs) for name, pairs in test.pairs.items()}
    return {"reference_tokens": tokens[code], "relative_gain": tokens[BYTES] / tokens[code]}


def _ngram_nats(training: Sequence[Verse], held_out: Sequence[Verse]) -> float:
    """Nats per character of the targets of held-out verses, with their ends, by n-grams of those of training verses."""
    counted, scored = ([f"{verse.target}\n" for verse in verses] for verses in (training, held_out))
    return fewest_nats(counted, scored) / sum(len(verse.target) for verse in held_out)


def _examples(
    test: Encoded, translated: Mapping[Variant, tuple[list[Output], int]], pilot: Pilot
) -> list[dict[str, str]]:
    """The first test verses, each with the translations of both codes by the models of the first seed."""
    models = {code: translated[Variant(code, SCRATCH, pilot.seeds[0])][0] for code in (BYTES, BITS)}
    return [
        {
            "id": verse.id,
            "source": verse.source,
            "reference": verse.target,
            **{code: outputs[number].decoded.text for code, outputs in models.items()},
        }
        for number, verse in enumerate(test.verses[: pilot.examples])
    ]


if __name__ == "__main__":
    run(evaluate)
