"""How MLflow shows the tables of the evaluation stages: one `View` for each of these stages.

A view names the table of a stage, the columns that identify a row, the columns that describe it, the metrics, and the
files to attach. `flows.tracking` makes one MLflow run from each row; every other numeric column stands in a table in
the run's description, and every column `param.NAME` is the parameter NAME.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Scalar = str | int | float | bool | None
Where = Mapping[str, Sequence[Scalar]]
"""Column -> values: the rows that have one of these values in each of these columns."""

PARAMETER = "param."
"""Prefix of the columns with a row's own parameters; null where a parameter does not apply to the row."""


@dataclass(frozen=True)
class Question:
    """What an experiment of MLflow answers: its name, as on the command line, and the question."""

    name: str
    text: str


@dataclass(frozen=True)
class File:
    """A file to attach to runs; `{column}` stands for the value of the row. `where`: only to these rows."""

    path: str
    where: Where = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """How MLflow shows the table of one evaluation stage.

    In paths, `{preset}` stands for the preset and `{key}` for the variant of the stage, as in dvc.yaml.
    """

    stage: str
    """Name of the stage in dvc.yaml, without its variant."""
    question: Question
    table: str
    """Path of the table, a Parquet file that the stage writes."""
    key: Sequence[str]
    """Columns that identify a row."""
    label: Mapping[str, str | Mapping[str, str]]
    """Column -> its text in the name of a run: a format such as "λ={}", or a text for each value that has one."""
    metrics: Sequence[str]
    """The first of them sorts the runs; MLflow draws each on the page of a run, so a few."""
    variants: str = ""
    """Section of the parameters with the stage's variants, where `dvc metrics` shows the first metric."""
    lower_is_better: bool = False
    """Whether small values of the first metric come first."""
    facts: Sequence[str] = ()
    """Further columns that describe a row and are not metrics."""
    repeats: Sequence[str] = ()
    """Columns of the key that number repetitions: rows that differ only in these are averaged."""
    only: Mapping[str, Where] = field(default_factory=dict)
    """Stage before this one -> the rows that depend on it; by default all rows do."""
    artefacts: Sequence[File] = ()
    """Files that exist when the stage has run."""
    figures: Sequence[File] = ()
    """Files that the stage `report` draws afterwards; attached once they exist, and replaced when they change."""
    registered: str = ""
    """Column of the key: of each of its values the best row with a tokenizer.json is a registered model."""
    tags: Mapping[str, str | Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """Tag -> text, or {column: {value: text}}."""

    def columns(self) -> list[str]:
        """Every column that the view names."""
        conditions = [*self.only.values(), *(file.where for file in (*self.artefacts, *self.figures))]
        of_tags = [text for text in self.tags.values() if not isinstance(text, str)]
        mappings = [self.label, *conditions, *of_tags]
        names = [
            *self.key,
            *self.facts,
            *self.metrics,
            *filter(None, [self.registered]),
            *(name for mapping in mappings for name in mapping),
        ]
        return list(dict.fromkeys(names))


_BPE_OF_SUBSET = {"training": ["subset"], "bpe": ["raw", "pretokenized"]}
_BPE_OF_FULL = {"training": ["full"], "bpe": ["raw", "pretokenized"]}
_BY_ENTROPY = {"signal": ["entropy", "both"]}
_BY_STATISTICS = {"signal": ["statistics", "both"]}
_BY_WORDS = {"signal": ["words"]}


def _tokenizer(folder: str, where: Where | None = None) -> list[File]:
    """The files of a tokenizer."""
    return [File(f"{folder}/{name}", where or {}) for name in ("tokenizer.json", "tokenizer_config.json")]


SEGMENTATION = View(
    stage="evaluate_segmentation",
    variants="segmentation.corpora",
    question=Question("segmentation", "Where do words end?"),
    table="reports/{preset}/segmentation/{key}/scores.parquet",
    key=["corpus", "training", "configuration", "seed", "bpe"],
    facts=["method", "signal", "lambda", "threshold", "nu"],
    repeats=["seed"],
    label={
        "corpus": "{}",
        "training": "{}",
        "configuration": "{}",
        "lambda": "λ={}",
        "threshold": "θ={}",
        "nu": "ν={}",
        "bpe": {"raw": "BPE", "pretokenized": "BPE, pretokenized"},
        "seed": "seed {}",
    },
    metrics=["f1", "precision", "recall", "boundary_f1", "oov_recall", "characters_per_segment", "vocabulary"],
    only={
        "ngram_statistics": _BY_STATISTICS,
        "entropy": _BY_ENTROPY,
        "entropy_model": _BY_ENTROPY,
        "public_model": _BY_ENTROPY,
        "word_model": _BY_WORDS,
    },
    registered="corpus",
    artefacts=[
        *_tokenizer("models/{preset}/tokenizers/{key}/subset/{seed}/{configuration}", _BPE_OF_SUBSET),
        *_tokenizer("models/{preset}/tokenizers/{key}/full/{configuration}", _BPE_OF_FULL),
    ],
    figures=[
        File("reports/{preset}/figures/segmentation/{key}/sentence.png"),
        File("reports/{preset}/figures/segmentation/{key}/entropy.png", _BY_ENTROPY),
        File("reports/{preset}/figures/segmentation/{key}/lambda.png", _BY_STATISTICS),
        File("reports/{preset}/figures/segmentation/{key}/thresholds.png", _BY_ENTROPY),
        File("reports/{preset}/figures/segmentation/{key}/distributions.png"),
    ],
    tags={
        "paper": "Entropy-Driven Pre-Tokenization for Byte-Pair Encoding",
        "language": {"corpus": {"pku": "zh", "msr": "zh", "zh": "zh", "ja": "ja"}},
    },
)

OWN_TEXT = View(
    stage="own_text",
    variants="segmentation.own_text",
    question=Question("own-text", "Where do words end, by the text alone?"),
    table="reports/{preset}/own_text/{key}/scores.parquet",
    key=["text", "part", "configuration", "seed"],
    facts=["corpus", "rules", "lambda", "training_sentences", "training_characters"],
    repeats=["part", "seed"],
    label={"text": "{}", "part": "slice {}", "configuration": "{}", "seed": "seed {}"},
    metrics=["f1", "han_f1", "precision", "recall", "boundary_f1", "characters_per_segment"],
    tags={"language": {"corpus": {"pku": "zh", "zh": "zh", "ud-thai": "th", "ud-japanese": "ja"}}},
)

EXPORT = View(
    stage="export",
    variants="segmentation.corpora",
    question=Question("export", "How much of a segmentation does a plain tokenizer keep?"),
    table="reports/{preset}/export/{key}/scores.parquet",
    key=["corpus", "configuration", "export", "seed"],
    facts=["method", "signal", "lambda", "threshold", "nu"],
    repeats=["seed"],
    label={"corpus": "{}", "configuration": "{}", "export": "{}", "seed": "seed {}"},
    metrics=["f1", "f1_of_words", "f1_of_segments", "segments_equal_to_a_word", "restored", "vocabulary", "bytes"],
    only=SEGMENTATION.only,
    registered="corpus",
    artefacts=_tokenizer("models/{preset}/exported/{key}/{configuration}/{export}"),
    tags={"language": SEGMENTATION.tags["language"]},
)

_LATOM = "Corpus-Dependent Subcharacter Encoding via HMM-Guided Code Assignment"

CODES = View(
    stage="evaluate_codes",
    variants="codes.corpora",
    question=Question("codes", "Which code should a character have?"),
    table="reports/{preset}/codes/{key}/scores.parquet",
    key=["corpus", "text", "tokenizer", "code", "N", "K", "seed"],
    facts=["variant", "alphabet"],
    repeats=["seed"],
    label={
        "corpus": "{}",
        "code": "{}",
        "N": "N={}",
        "K": "K={}",
        "tokenizer": {"unigram": "unigram"},
        "text": {"held-out": "held-out text"},
        "seed": "seed {}",
    },
    metrics=["tokens_saved_C", "bits_per_character_C"],
    artefacts=[
        *_tokenizer("models/{preset}/code_tokenizers/{key}/{variant}/{tokenizer}", {"text": ["training"]}),
        File("models/{preset}/codes/{key}/{variant}.json"),
    ],
    figures=[
        File("reports/{preset}/figures/codes/{key}/bpe.png", {"tokenizer": ["bpe"]}),
        File("reports/{preset}/figures/codes/{key}/unigram.png", {"tokenizer": ["unigram"]}),
        File("reports/{preset}/figures/codes/{key}/codebook.html", {"code": ["latom"]}),
    ],
    tags={"paper": _LATOM},
)

_TOKENIZATION_BIAS = "Understanding and Mitigating Tokenization Bias in Language Models"

MARKOV = View(
    stage="markov_experiment",
    variants="exact.markov",
    question=Question("exact-markov", "Which character comes next in a chain?"),
    table="reports/{preset}/markov/{key}/summary.parquet",
    key=["experiment", "vocabulary", "model", "estimator", "seed"],
    repeats=["seed"],
    label={"experiment": "{}", "vocabulary": "{}", "model": "{} model", "estimator": "{}", "seed": "chain {}"},
    metrics=["mean_error", "max_error", "mean_error_biased", "undefined", "calls", "passes"],
    lower_is_better=True,
    only={"markov_model": {"model": ["trained"]}},
    artefacts=[File("reports/{preset}/markov/{key}/scores.parquet")],
    figures=[File("reports/{preset}/figures/exact/markov/{key}-seed{seed}.png")],
    tags={"paper": _TOKENIZATION_BIAS},
)

EXACT = View(
    stage="evaluate_exact",
    variants="exact.evaluated",
    question=Question("exact", "Which character comes next?"),
    table="reports/{preset}/exact/{key}/scores.parquet",
    key=["name", "place"],
    facts=["corpus"],
    label={"name": "{}", "place": "{}"},
    lower_is_better=True,
    metrics=[
        "exact_bits_per_character",
        "naive_bits_per_character",
        "kl",
        "total_variation",
        "differs",
        "exact_next_bits",
        "naive_next_bits",
        "never_made",
        "calls_per_byte",
        "tokens_per_byte",
    ],
    artefacts=[File("reports/{preset}/exact/{key}/examples.json")],
    figures=[File("reports/{preset}/figures/exact/bias.png")],
    tags={"paper": _TOKENIZATION_BIAS},
)

_BIT_LEVEL = "Bit-level BPE: Below the byte boundary"

BITS = View(
    stage="bits_length",
    variants="bits.corpora",
    question=Question("bits", "What lies below the byte?"),
    table="reports/{preset}/bits/{key}/lengths.parquet",
    key=["corpus", "base", "known", "code", "mode", "prefixes", "emission"],
    label={
        "corpus": "{}",
        "base": "{}",
        "known": "{} known",
        "code": {"bytes": "bytes", "script": "SCRIPT"},
        "mode": "{}",
        "prefixes": "{} prefixes",
        "emission": {"change": "on change"},
    },
    metrics=["saved", "tokens", "entropy", "resets", "ambiguous", "byte_tokens", "fallback_characters"],
    artefacts=[File("reports/{preset}/bits/{key}/search.parquet", {"code": ["bits"]})],
    figures=[
        File("reports/{preset}/figures/bits/savings.png", {"base": ["characters"], "code": ["bits"]}),
        File("reports/{preset}/figures/bits/search.png", {"code": ["bits"]}),
    ],
    tags={"paper": _BIT_LEVEL},
)

TRANSLATION = View(
    stage="evaluate_translation",
    variants="bits.translation",
    question=Question("translation", "Does a model translate better below the byte?"),
    table="reports/{preset}/translation/{key}/scores.parquet",
    key=["pair", "code", "init", "seed"],
    facts=["name", "bleu_tokenizer"],
    repeats=["seed"],
    label={
        "pair": "{}",
        "code": {"bytes": "byte fallback", "bits": "bit-level"},
        "init": {"mean": "fine-tuned, means", "copy": "fine-tuned, copies"},
        "seed": "seed {}",
    },
    metrics=["chrf", "bleu", "errors", "broken", "empty", "relative_gain", "held_out_nats_per_character"],
    artefacts=[File("reports/{preset}/translation/{key}/examples.json")],
    figures=[
        File("reports/{preset}/figures/bits/translation.png"),
        File("reports/{preset}/figures/bits/loss.png"),
    ],
    tags={"paper": _BIT_LEVEL},
)


_HIERARCHICAL = "From Characters to Tokens: Dynamic Grouping with Hierarchical BPE"

PATCHERS = View(
    stage="patches",
    variants="patches.corpora",
    question=Question("patchers", "How should text be cut into patches?"),
    table="reports/{preset}/patches/{key}/patchers.parquet",
    key=["corpus", "patcher", "longest"],
    facts=["kind", "tokenizer", "rule", "modelled"],
    label={"corpus": "{}", "patcher": "{}", "longest": "S={}"},
    metrics=["gold_f1", "whitespace_f1", "bytes_per_patch", "symbols_per_patch", "fertility", "word_f1", "symbols"],
    artefacts=[File("reports/{preset}/patches/{key}/lengths.csv")],
    figures=[File("reports/{preset}/figures/patches/lengths.png"), File("reports/{preset}/figures/patches/tokens.png")],
    tags={"paper": _HIERARCHICAL},
)

PATCH_MODELS = View(
    stage="evaluate_patch_lm",
    variants="patches.models",
    question=Question("patch-models", "Which patches make the best language model for its compute?"),
    table="reports/{preset}/patch_scores/{key}/scores.parquet",
    key=["name", "size", "corpus", "variant", "seed"],
    facts=["model", "patcher", "ablation", "tokenizer", "hash"],
    repeats=["seed"],
    label={"name": "{}", "size": "{}", "variant": "{}", "seed": "seed {}"},
    metrics=["bits_per_byte", "bytes_per_patch", "fertility", "gold_f1", "parameters", "training_bytes", "flops_built"],
    lower_is_better=True,
    artefacts=[
        File("models/{preset}/patch_models/{key}/{variant}-seed{seed}/config.json"),
        File("reports/{preset}/patch_models/{key}/loss.csv"),
        File("reports/{preset}/patch_scores/{key}/examples.json"),
    ],
    figures=[
        File("reports/{preset}/figures/patches/training.png"),
        File("reports/{preset}/figures/patches/vocabulary.png", {"ablation": ["vocabulary"]}),
        File("reports/{preset}/figures/patches/longest.png", {"ablation": ["longest"]}),
    ],
    tags={"paper": _HIERARCHICAL},
)

ZERO_SHOT = View(
    stage="zero_shot",
    question=Question("zero-shot", "What can the language models do untaught?"),
    table="reports/{preset}/zero_shot/{key}/zero_shot.parquet",
    key=["name", "size", "corpus", "variant", "task", "metric", "seed"],
    repeats=["seed"],
    label={"name": "{}", "size": "{}", "variant": "{}", "task": "{}", "metric": "{}", "seed": "seed {}"},
    metrics=["value", "stderr", "chance", "items"],
    tags={"paper": _HIERARCHICAL},
)


MEASURES = View(
    stage="measure",
    question=Question("measures", "Which tokenizer for which text?"),
    table="reports/{preset}/measures/{key}/scores.parquet",
    key=["name", "corpus", "family", "tokenizer"],
    label={"corpus": "{}", "tokenizer": "{}"},
    metrics=["bytes_per_token", "fertility", "words_kept_whole", "parity", "gini", "renyi_efficiency"],
)

COMPARED = View(
    stage="evaluate_compared",
    variants="compared.corpora",
    question=Question("compared", "How should this text be cut?"),
    table="reports/{preset}/compared/{key}/scores.parquet",
    key=["name", "corpus", "method", "budget", "seed"],
    facts=["kind"],
    repeats=["seed"],
    label={"name": "{}", "method": "{}", "budget": {"bytes": "equal bytes"}, "seed": "seed {}"},
    metrics=["bits_per_byte", "quarter", "half", "flops_per_byte", "parameters", "bytes_per_token", "fertility"],
    lower_is_better=True,
    registered="corpus",
    artefacts=[
        File("models/{preset}/compared/{key}/candidates/{method}/tokenizer.json", {"kind": ["tokens"]}),
        File("reports/{preset}/compared/{key}/robustness.parquet"),
    ],
    figures=[File("reports/{preset}/figures/compared/{key}.png")],
)

CLASSIFICATION = View(
    stage="classify",
    variants="downstream.classified",
    question=Question("classification", "Do the codes help classifiers?"),
    table="reports/{preset}/classify/{key}/scores.parquet",
    key=["name", "language", "code", "N", "K", "tokenizer", "size", "model", "seed"],
    facts=["labelled"],
    repeats=["seed"],
    label={
        "language": "{}",
        "code": "{}",
        "N": "N={}",
        "tokenizer": {"unigram": "unigram", "none": "no tokenizer"},
        "size": "|V|={}",
        "model": "{}",
        "seed": "seed {}",
    },
    metrics=["f1", "tokens_per_text", "padding", "held_out_nats"],
    artefacts=[
        File("reports/{preset}/classify/{key}/compared.parquet"),
        File("reports/{preset}/classify/{key}/perturbed.parquet"),
    ],
    tags={
        "paper": _LATOM,
        "language": {"language": {"english": "en", "german": "de", "chinese": "zh", "japanese": "ja"}},
    },
)

GENERATION = View(
    stage="generate",
    variants="downstream.language_models",
    question=Question("generation", "Do generated texts decode?"),
    table="reports/{preset}/generate/{key}/scores.parquet",
    key=["name", "language", "code", "N", "K", "tokenizer", "size", "way", "seed"],
    facts=["labelled", "count"],
    repeats=["seed"],
    label={"language": "{}", "code": "{}", "N": "N={}", "size": "|V|={}", "way": "{}", "seed": "seed {}"},
    metrics=["error_share", "bits_per_character", "bits_of_scored"],
    lower_is_better=True,
    artefacts=[File("reports/{preset}/generate/{key}/examples.json")],
    tags=CLASSIFICATION.tags,
)

VIEWS: Sequence[View] = (
    SEGMENTATION,
    OWN_TEXT,
    EXPORT,
    CODES,
    MARKOV,
    EXACT,
    BITS,
    TRANSLATION,
    PATCHERS,
    PATCH_MODELS,
    ZERO_SHOT,
    CLASSIFICATION,
    GENERATION,
    COMPARED,
    MEASURES,
)
"""The views of all evaluation stages."""
