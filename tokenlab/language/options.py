"""Options of language models: their training, and how they continue texts."""

from dataclasses import dataclass

from tokenlab.core.options import check_least, option
from tokenlab.training.options import TrainingOptions


@dataclass(frozen=True, kw_only=True)
class LanguageTraining(TrainingOptions):
    """Settings of a training. Raises ParameterError for values out of range.

    A batch is `batch` rows of whole passages, at most `context` bytes each, whatever the network reads: at equal
    options, all networks see the same bytes in every update. evaluate_bytes: passages are taken in their order until
    they have this many bytes.
    """

    context: int = option("bytes of a row, and of the longest passage", metavar="N")
    evaluate_bytes: int | None = option("bytes of held-out text in each evaluation", None, metavar="N", none="all")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least("context", self.context, 4)
        check_least("evaluate_bytes", self.evaluate_bytes, 1)


@dataclass(frozen=True)
class GenerationOptions:
    """How texts are continued.

    Every random number follows from the seed, the number of the prompt and the number of the symbol after it, so a
    continuation does not depend on `batch`, but for rounding.

    Raises ParameterError for values out of range.
    """

    length: int = option("bytes to generate after the prompt, at most", 256, metavar="N")
    temperature: float = option("divides the logits; 0 takes the most probable symbol", 1.0, metavar="X")
    top_k: int | None = option("draw among the K most probable symbols", None, metavar="K", none="all")
    seed: int = option("seed of the random numbers", 0, metavar="N")
    spellings: bool = option("allow only patches that spell a token (models with bpe patches)", False)
    batch: int = option("prompts continued at once", 32, metavar="N")

    def __post_init__(self) -> None:
        check_least("length", self.length, 0)
        check_least("temperature", self.temperature, 0)
        check_least("top_k", self.top_k, 1)
        check_least("seed", self.seed, 0)
        check_least("batch", self.batch, 1)
