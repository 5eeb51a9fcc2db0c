"""Options of generation."""

from dataclasses import dataclass

from tokenlab.core.options import check_least, option


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
