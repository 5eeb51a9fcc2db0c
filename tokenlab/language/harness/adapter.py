"""Language models behind the interface of lm-evaluation-harness, which scores them as it scores all others."""

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from tokenlab.core.errors import ParameterError
from tokenlab.language.generation.generate import generate
from tokenlab.language.harness.requests import ROW_BYTES, score_continuations, score_texts
from tokenlab.language.options import GenerationOptions
from tokenlab.language.stored import LanguageModel

BYTES_PER_TOKEN = 4
"""Bytes for which a token in the library's limits of generation counts, so that every model may write as much."""

_IGNORED = {"until", "max_gen_toks", "do_sample", "temperature", "top_k"}


class HarnessModel(LM):
    """A language model for `lm_eval.evaluate`.

    Args:
        model: on the device where it computes, in evaluation mode.
        row_bytes: bytes scored at once, padding included.
        seed: of the random numbers of generation.
    """

    def __init__(self, model: LanguageModel, row_bytes: int = ROW_BYTES, seed: int = 0) -> None:
        super().__init__()
        self.model = model
        self.row_bytes = row_bytes
        self.seed = seed

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """The log-probability of each continuation after its context, in nats, and whether it is the greedy one.

        Raises InputError for a text that the model's coder cannot code.
        """
        pairs = [(request.args[0].encode(), request.args[1].encode()) for request in requests]
        scores = score_continuations(self.model, pairs, self.row_bytes)
        return self._kept("loglikelihood", requests, [(-score.nats, score.greedy) for score in scores])

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """The log-probability of each text, in nats, in pieces of the model's context.

        Raises InputError for a text that the model's coder cannot code.
        """
        nats = score_texts(self.model, [request.args[0].encode() for request in requests], self.row_bytes)
        return self._kept("loglikelihood_rolling", requests, [-value for value in nats])

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """The continuation of each context, until one of the strings in `until` (which is left out); bytes that are no
        UTF-8 as \\xNN. A token of `max_gen_toks` counts as four bytes.

        Raises InputError for a context that the model's coder cannot code, ParameterError for an unknown way to sample.
        """
        found = []
        for request in requests:
            context, arguments = request.args
            ends, options = self._options(arguments)
            found.extend(generate(self.model, [context.encode()], options, ends))
        return self._kept("generate_until", requests, [text.decode(errors="backslashreplace") for text in found])

    def _options(self, arguments: Mapping[str, Any]) -> tuple[list[bytes], GenerationOptions]:
        unknown = [name for name in arguments if name not in _IGNORED]
        if unknown:
            raise ParameterError(f"generation has no option {', '.join(unknown)}; it has {', '.join(sorted(_IGNORED))}")
        until = arguments.get("until") or []
        ends = [end.encode() for end in ([until] if isinstance(until, str) else until)]
        sampled = arguments.get("do_sample", arguments.get("temperature", 0) > 0)
        options = GenerationOptions(
            length=BYTES_PER_TOKEN * arguments.get("max_gen_toks", 256),
            temperature=arguments.get("temperature", 1.0) if sampled else 0,
            top_k=arguments.get("top_k"),
            seed=self.seed,
        )
        return ends, options

    def _kept(self, kind: str, requests: Sequence[Instance], answers: list[Any]) -> list[Any]:
        """The answers, also for the library's own cache."""
        for request, answer in zip(requests, answers, strict=True):
            self.cache_hook.add_partial(kind, request.args, answer)
        return answers
