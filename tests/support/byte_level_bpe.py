"""Byte-level BPE trained by the library `tokenizers`."""

from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def train_byte_level(
    texts: Iterable[str], size: int, special_tokens: Sequence[str] = (), *, use_regex: bool = True
) -> Tokenizer:
    """BPE over all bytes, as GPT-2's; use_regex: whether its expression cuts the texts first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[*special_tokens], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
