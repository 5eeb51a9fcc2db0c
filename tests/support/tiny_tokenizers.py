"""Tiny byte-level BPE tokenizers of the library `tokenizers`, and automata over their tokens."""

import json
from collections import deque
from collections.abc import Hashable, Sequence

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenlab.exact.splits.composed import Hypothesis, SplitEncoding
from tokenlab.exact.splits.regex_machine import ADD, BREAK, KINDS, SplitMachine
from tokenlab.formats.ranks import GPT2, LLAMA3, LLAMA4, QWEN

EXPRESSIONS = {
    "gpt2": GPT2,
    "llama3": LLAMA3,
    "qwen": QWEN,
    "llama4": LLAMA4,
    "tekken": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s",
}
"""The expressions of GPT-2, LLaMA 3, Qwen, LLaMA 4 (o200k), Tekken and of newer releases of cl100k."""

DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
)
"""The three expressions of DeepSeek, one after the other."""


def byte_level(*expressions: str) -> pre_tokenizers.PreTokenizer:
    """The pre-tokenizer that isolates the matches of one expression after the other."""
    splits = [pre_tokenizers.Split(Regex(expression), "isolated") for expression in expressions]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(
    pre_tokenizer: pre_tokenizers.PreTokenizer,
    texts: Sequence[str],
    merges: int,
    *,
    ignore_merges: bool = False,
    added: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Tokenizer:
    """BPE whose alphabet is the bytes of the texts.

    added: added tokens; words: entries of the vocabulary that no merge makes.
    """
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoders.ByteLevel()
    alphabet = len({byte for text in texts for byte in text.encode()})
    trainer = trainers.BpeTrainer(vocab_size=alphabet + merges, show_progress=False, min_frequency=1)
    tokenizer.train_from_iterator(texts, trainer)
    if words:
        content = json.loads(tokenizer.to_str())
        to_byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str
        for word in words:
            content["model"]["vocab"].setdefault(to_byte_level(word)[0][0], len(content["model"]["vocab"]))
        tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in added])
    return tokenizer


def witness(automaton: SplitEncoding, state: Hashable) -> bytes:
    """Bytes after which the text can end: the encoding of text and witness begins with the tokens of the state."""
    assert isinstance(state, frozenset)
    return min((_witness(automaton, here) for here in state), key=len)


def _witness(automaton: SplitEncoding, here: Hypothesis) -> bytes:
    route = automaton._routes.route(here)
    assert route is not None
    for token in route:
        after = automaton._moves.within(here, token)
        assert after is not None
        here = after
    endings = (_ending(automaton.machine, split) for split in automaton.sets.states[here.splits])
    shortest = min((classes for classes in endings if classes is not None), key=len)
    spelled = b"".join(automaton.vocabulary.tokens[token] or b"" for token in route)
    return spelled + "".join(map(automaton.classes.example, shortest)).encode()


def _ending(machine: SplitMachine, state: int) -> list[int] | None:
    """Classes of a shortest continuation that begins a new piece, or none at all; None where the piece goes on."""
    if machine.can_end(state):
        return []
    first = [(c, n) for c in machine.classes for kind in (BREAK, ADD) for n in machine.next(state, c, kind)]
    return min(([c, *_continuation(machine, n)] for c, n in first), key=len, default=None)


def _continuation(machine: SplitMachine, state: int) -> list[int]:
    """Classes of the characters of a shortest continuation after which the text can end. The state must be live."""
    paths: dict[int, list[int]] = {state: []}
    queue = deque([state])
    while not machine.can_end(here := queue.popleft()):
        for c in machine.classes:
            for there in (n for kind in KINDS for n in machine.next(here, c, kind)):
                if there not in paths:
                    paths[there] = [*paths[here], c]
                    queue.append(there)
    return paths[here]
