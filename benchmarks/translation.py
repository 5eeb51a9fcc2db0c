"""Translation with byte fallback and with the bit-level code: tokens a second, and as they are perceived.

The models are those that the pipeline trained for a preset (`--preset`); both codes translate the same sentences, first
several at once, then one by one. Perceived tokens a second (section 5 of the bit-level paper) are tokens a second times
the relative gain: tokens of the references with byte fallback / in this code.
"""

from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
import yaml
from tokenizers import Tokenizer

from benchmarks.measure import Bench, Facts, Measurement, Task, table_of
from tokenlab.codes.bits.options import BitOptions
from tokenlab.codes.bits.over.bases import base_of
from tokenlab.codes.bits.over.tokenizer import BitTokenizer
from tokenlab.codes.bits.over.training import END, SPECIAL
from tokenlab.core.errors import InputError
from tokenlab.metrics.tokenization import perceived_tps, relative_gain, tokens_per_second
from tokenlab.text.store import read_corpus
from tokenlab.translation.generation import Translation, translate
from tokenlab.translation.model import load_model
from tokenlab.translation.options import GenerationOptions
from tokenlab.translation.pairs import sentences

TITLE = "Translation"
TEXTS = ()
_PROJECT = Path(__file__).resolve().parent.parent
_CODES = {"bytes": "byte fallback", "bits": "bit-level"}
_BATCHES = ((32, 64), (1, 12))  # sentences at once, and of them in all
_END = SPECIAL.index(END)


def table(bench: Bench) -> list[str]:
    speeds = "tokens/s", "relative gain", "perceived tokens/s", "sentences/s"
    heads = ["pair", "code", "sentences at once", *speeds, "tokens"]
    rows = []
    for models, corpora in _pairs(bench.preset):
        for batch, count in _BATCHES:
            size = 4 if bench.quick else count
            arguments = [*map(str, corpora), str(size), str(batch)]
            found = {code: bench.measure("translation:generate", str(models), code, *arguments) for code in _CODES}
            rows += [[models.name, _CODES[code], batch, *_cells(code, found)] for code in _CODES]
    return [
        f"Models of the preset `{bench.preset}`, greedy, one thread; torch {torch.__version__}, transformers "
        f"{transformers.__version__}. Ends of sentences count as tokens, padding does not.",
        "",
        *table_of(heads, rows, left=2),
    ]


def _pairs(preset: str) -> Iterator[tuple[Path, tuple[Path, Path]]]:
    """The folder of the models of each trained pair, and of its corpora."""
    file = _PROJECT / ("params.yaml" if preset == "sample" else f"presets/{preset}/params.yaml")
    pairs = yaml.safe_load(file.read_text(encoding="utf-8"))["bits"]["translation"] if file.exists() else {}
    corpora = _PROJECT / "data" / preset / "corpora"
    found = False
    for name, pair in pairs.items():
        models = _PROJECT / "models" / preset / "translation" / name
        if models.exists():
            found = True
            yield models, (corpora / pair["source"], corpora / pair["target"])
    if not found:
        raise InputError(
            f"{preset}: no translation model is trained; `make repro PRESET={preset} ONLY=bits` trains them"
        )


def _cells(code: str, found: dict[str, Measurement]) -> list[str]:
    one, tokens = found[code], found[code].facts["tokens"]
    references = [found[name].facts["reference_tokens"] for name in ("bytes", code)]
    perceived = perceived_tps(tokens_per_second(tokens, one.median), *references)
    speeds = f"{perceived:.3g}", f"{one.facts['sentences'] / one.median:.3g}"
    return [one.rate(tokens), f"{relative_gain(*references):.3f}", *speeds, str(tokens)]


def _generate(models: str, code: str, source: str, target: str, count: str, batch: str) -> Task:
    """Translate sentences of the first seed's model of a code."""
    base = base_of(Tokenizer.from_file(f"{models}/tokenizer.json"))
    encode = (base if code == "bytes" else BitTokenizer(base, BitOptions())).encode_batch
    model = load_model(sorted(Path(models).glob(f"{code}-scratch-seed*"))[0])
    most = model.config.max_position_embeddings
    pairs = _short_pairs(Path(source), Path(target), int(count), most, base.encode_batch)
    sources, references = (encode([pair[side] for pair in pairs]) for side in (0, 1))
    options = GenerationOptions(longest=most, batch=int(batch))
    never = [id for id in range(len(SPECIAL)) if id != _END]

    def facts(found: list[Translation]) -> Facts:
        return {
            "tokens": sum(len(one.ids) + one.ended for one in found),
            "reference_tokens": sum(map(len, references)),
            "sentences": len(found),
        }

    whole = sentences(sources, _END)
    return Task(lambda some: translate(model, some, options, never), sentences(sources[:1], _END), whole, facts)


def _short_pairs(source: Path, target: Path, count: int, most: int, encode) -> list[tuple[str, str]]:
    """Sentences spread over both corpora, of fewer than `most` tokens."""
    targets = {document.id: document.text for document in read_corpus(target)}
    pairs = [(document.text, targets[document.id]) for document in read_corpus(source) if document.id in targets]
    spread = pairs[:: max(1, len(pairs) // (4 * count))]
    lengths = [encode([pair[side] for pair in spread]) for side in (0, 1)]
    short = [pair for pair, one, other in zip(spread, *lengths, strict=True) if max(len(one), len(other)) < most]
    return short[:count]


TASKS = {"generate": _generate}
