"""Tokenizers by ranks (tiktoken, Tekken) as real tokenizers.

The engine is the same tokenizer in the library `tokenizers`, as `transformers` makes it: every way to make a token from
two is a merge, and a word that is a token is not merged at all.
"""

from typing import TYPE_CHECKING, Any

from tokenlab.exact.adapters.prefixed import joined
from tokenlab.exact.adapters.real import RealTokenizer, UnsupportedTokenizer, exact_encoder
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.splits.reading import read_splits
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.formats.byte_level import written
from tokenlab.formats.ranks import RankTokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def from_ranks(ranks: RankTokenizer, *, name: str) -> RealTokenizer:
    """The automaton of a tokenizer by ranks.

    Raises UnsupportedTokenizer where its expression cannot be handled exactly, or does not cover all text.
    """
    pre_tokenizer = _pre_tokenizer(ranks.pattern)
    engine = _engine(ranks, pre_tokenizer)
    vocabulary = Vocabulary(ranks.tokens)
    word = BytePair.from_ranks(
        vocabulary, [None if token is None else id for id, token in enumerate(ranks.tokens)], whole_words=True
    )
    automaton = joined(
        word,
        read_splits(pre_tokenizer),
        None,
        exact_encoder(lambda text: engine.encode(text, add_special_tokens=False).ids, ranks.tokens, b""),
    )
    return RealTokenizer(name, automaton, engine, ranks.bos, ranks.eos)


def merges_of_ranks(regular: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Every way to make a token from two, lowest rank first; `regular` in the order of ranks."""
    merges = []
    for token in regular:
        ways = [
            (regular[left], regular[right], left, right)
            for cut in range(1, len(token))
            if (left := token[:cut]) in regular and (right := token[cut:]) in regular
        ]
        merges += [(left, right) for _, _, left, right in sorted(ways)]
    return merges


def _pre_tokenizer(pattern: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [split, byte_level]}


def _engine(ranks: RankTokenizer, pre_tokenizer: dict[str, Any]) -> "Tokenizer":
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    regular = ranks.regular
    vocabulary = {written(token): id for token, id in regular.items()}
    merges = [(written(left), written(right)) for left, right in merges_of_ranks(regular)]
    engine = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=True))
    try:
        split = pre_tokenizers.Split(Regex(ranks.pattern), "isolated")
    except Exception as error:
        raise UnsupportedTokenizer(f"the expression does not compile: {' '.join(str(error).split())}") from error
    engine.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    engine.decoder = decoders.ByteLevel()
    return engine
