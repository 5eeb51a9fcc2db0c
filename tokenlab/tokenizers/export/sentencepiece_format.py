"""Models in the format of SentencePiece.

A model of this format has no regular expression, and needs none: no piece contains what the segmenter keeps apart, and
a sum of scores over a line is the sum over its runs. Scores are float32 there, so ties are decided by rounding.

Two settings differ from those of most models, so that every text is decoded to itself: spaces stay spaces (elsewhere
they become U+2581, and that character itself is lost), and nothing is normalised, added or removed. Special tokens are
control symbols, which no text can contain.
"""

from contextlib import suppress
from importlib import import_module
from typing import Any

from tokenlab.core.errors import InputError
from tokenlab.tokenizers.export.vocabulary import BYTES, Vocabulary

_SPACE_SYMBOL = "\u2581"  # is decoded to a space, so pieces with it are not used, and it becomes bytes


def sentencepiece_model(vocabulary: Vocabulary) -> bytes:
    """The bytes of a `.model` file; ids are those of the `tokenizer.json`.

    Raises InputError where the description of the format, which the libraries sentencepiece and transformers have, is
    not installed.
    """
    format = description()
    model = format.ModelProto()
    types = format.ModelProto.SentencePiece
    special = vocabulary.special
    kinds = [types.UNKNOWN, *[types.CONTROL] * (len(special.tokens) - 1), *[types.BYTE] * len(BYTES)]
    kinds += [
        types.UNUSED if _SPACE_SYMBOL in piece else types.NORMAL for piece in vocabulary.pieces[vocabulary.begin :]
    ]
    for piece, score, kind in zip(vocabulary.pieces, vocabulary.scores.tolist(), kinds, strict=True):
        model.pieces.add(piece=piece, score=score, type=kind)
    trained = model.trainer_spec
    trained.model_type = format.TrainerSpec.UNIGRAM
    trained.vocab_size = len(model.pieces)
    trained.byte_fallback = True
    trained.unk_piece = special.tokens[0]
    trained.unk_id = 0
    for role in ("bos", "eos", "pad"):
        token = special.roles.get(role)
        setattr(trained, f"{role}_id", -1 if token is None else special.tokens.index(token))
        if token is not None:
            setattr(trained, f"{role}_piece", token)
    normalizer = model.normalizer_spec
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = False
    normalizer.remove_extra_whitespaces = False
    normalizer.escape_whitespaces = False
    data: bytes = model.SerializeToString()
    return data


def description() -> Any:
    """The generated module of the format, from sentencepiece or transformers: a process can load only one of the two.

    Raises InputError where neither is installed, or protobuf is not.
    """
    for name in ("sentencepiece.sentencepiece_model_pb2", "transformers.utils.sentencepiece_model_pb2_new"):
        with suppress(ImportError):
            return import_module(name)
    raise InputError(
        "the format of sentencepiece is not installed; install protobuf, and sentencepiece or transformers"
    )
