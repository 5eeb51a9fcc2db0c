"""Tokenizers of the library `tokenizers` (tokenizer.json), whatever they were made from.

1. The normaliser is exact, ignored, or the reason for a refusal (`normalization`).
2. The tokens as bytes: in the byte-level alphabet, or characters with U+2581 for a space and `<0x41>` for a byte.
3. The word automaton by the model (`words`), the splits and added tokens around it (`tokenlab.exact.splits`).

Special tokens spell no text: text that looks like one is ordinary text, and `encode_special_tokens` makes the engine
agree.
"""

import json
from typing import TYPE_CHECKING, Any

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.normalization import Preparation, collision, preparation
from tokenlab.exact.adapters.prefixed import joined
from tokenlab.exact.adapters.real import RealTokenizer, UnsupportedTokenizer, exact_encoder
from tokenlab.exact.adapters.words import word_automaton
from tokenlab.exact.splits.reading import Splits, read_added_tokens, read_splits
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.formats.byte_level import spelled_bytes
from tokenlab.formats.pieces import SPACE

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LARGEST_ID = 1 << 22
_USUAL_BOS = (
    "<s>",
    "<|begin_of_text|>",
    "<bos>",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
    "[BOS]",
    "<|endoftext|>",
)
_USUAL_EOS = ("</s>", "<|end_of_text|>", "<eos>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[EOS]", "<|endoftext|>")
_INTO_CHARACTERS = (({"Regex": r"[\s\S]"}, "Isolated"),)
_BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))


def from_tokenizer(
    tokenizer: "Tokenizer",
    *,
    name: str = "tokenizer",
    bos: int | None = None,
    eos: int | None = None,
    ignore_normalizer: bool = False,
) -> RealTokenizer:
    """The automaton of a tokenizer, with a copy of the tokenizer as its engine.

    Args:
        name: for messages.
        bos, eos: ids; by default the special tokens with usual names.
        ignore_normalizer: leave out what a normaliser does that makes several texts equal. The automaton is then that
            of the tokenizer without it, for texts that are normalised already.

    Raises UnsupportedTokenizer, with the reason and an example, where several texts have one encoding or the kind of
    tokenizer is not modelled.
    """
    settings = json.loads(tokenizer.to_str())
    try:
        return _read(settings, tokenizer, name, (bos, eos), ignore_normalizer)
    except UnsupportedTokenizer as error:
        raise UnsupportedTokenizer(f"{name}: {error}") from error
    except InputError as error:
        # What splits and word automata cannot handle; their messages have the reason.
        raise UnsupportedTokenizer(f"{name}: {error}") from error


def loaded(text: str, where: str) -> "Tokenizer":
    """A tokenizer from the text of a tokenizer.json. Raises InputError where the library cannot read it."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(text)
    except BaseException as error:  # a panic of the Rust code is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise InputError(f"{where}: not a tokenizer.json: {' '.join(str(error).split())}") from error


def _read(
    settings: dict[str, Any], tokenizer: "Tokenizer", name: str, ends: tuple[int | None, int | None], ignore: bool
) -> RealTokenizer:
    example = collision(tokenizer.normalizer)
    prepared = preparation(settings.get("normalizer"), ignore=ignore, example=example)
    _prepare_metaspace(settings, prepared, ignore)
    byte_level = _is_byte_level(settings.get("pre_tokenizer"))
    added = settings.get("added_tokens") or []
    tokens = _spelled(settings["model"], added, byte_level, prepared.spaces)
    vocabulary = Vocabulary(tokens)
    plain = [entry for entry in added if not entry["special"]]
    if plain and prepared.prefix:
        text = plain[0]["content"]
        raise UnsupportedTokenizer(
            f"the text after the added token {text!r} gets a space of its own, as in {text + 'a'!r}"
        )
    if prepared.spaces and settings["model"].get("byte_fallback") and SPACE not in settings["model"]["vocab"]:
        raise UnsupportedTokenizer(f"a space becomes {SPACE}, which is no token: ' ' is spelled by bytes of {SPACE}")
    engine = _engine(settings, prepared)
    model = settings["model"]
    if model["type"] == "Unigram":  # the engine reads numbers with an error in the last place, which decides ties
        model = json.loads(engine.to_str())["model"]
    word = word_automaton(model, vocabulary, absent=[SPACE.encode()] if prepared.spaces else [])
    automaton = joined(
        word,
        _splits(settings),
        read_added_tokens(added),
        exact_encoder(lambda text: engine.encode(text, add_special_tokens=False).ids, tokens, prepared.prefix),
        prefix=prepared.prefix,
        of_bytes=byte_level,
    )
    bos, eos = (
        given if given is not None else _usual(added, names)
        for given, names in zip(ends, (_USUAL_BOS, _USUAL_EOS), strict=True)
    )
    return RealTokenizer(name, automaton, engine, bos, eos, _notes(prepared, settings["model"]))


def _splits(settings: dict[str, Any]) -> Splits:
    """The splits, none for WordLevel: there a split into characters only says that all tokens are characters."""
    pre_tokenizer = settings.get("pre_tokenizer")
    if settings["model"]["type"] != "WordLevel":
        return read_splits(pre_tokenizer)
    if not pre_tokenizer or (pre_tokenizer.get("pattern"), pre_tokenizer.get("behavior")) not in _INTO_CHARACTERS:
        raise UnsupportedTokenizer(
            "WordLevel makes words that are no token unknown; it is exact only behind a split into single characters"
        )
    return Splits()


def _prepare_metaspace(settings: dict[str, Any], prepared: Preparation, ignore: bool) -> None:
    """Metaspace replaces spaces as a normaliser does; the space that it puts before a text is lossy."""
    pre_tokenizer = settings.get("pre_tokenizer")
    metaspaces = [part for part in _parts(pre_tokenizer) if part.get("type") == "Metaspace"]
    if metaspaces:
        if metaspaces[0].get("replacement") != SPACE or len(_parts(pre_tokenizer)) > 1:
            raise UnsupportedTokenizer(
                "Metaspace with another replacement, or beside other pre-tokenizers, is not modelled"
            )
        prepared.spaces = True
        if ignore and metaspaces[0].get("prepend_scheme", "always") != "never":
            metaspaces[0]["prepend_scheme"] = "never"
            prepared.ignored.append("Metaspace (its space before the text)")
    elif prepared.spaces and _parts(pre_tokenizer):
        raise UnsupportedTokenizer(f"a pre-tokenizer that sees {SPACE} in place of spaces is not modelled")
    for part in _parts(pre_tokenizer):
        if ignore and part.get("type") == "ByteLevel" and part.get("add_prefix_space"):
            part["add_prefix_space"] = False
            prepared.ignored.append("ByteLevel (its space before the text)")


def _parts(pre_tokenizer: dict[str, Any] | None) -> list[dict[str, Any]]:
    if pre_tokenizer is None:
        return []
    if pre_tokenizer.get("type") == "Sequence":
        return [part for inner in pre_tokenizer.get("pretokenizers", []) for part in _parts(inner)]
    return [pre_tokenizer]


def _is_byte_level(pre_tokenizer: dict[str, Any] | None) -> bool:
    return any(part.get("type") == "ByteLevel" for part in _parts(pre_tokenizer))


def _spelled(
    model: dict[str, Any], added: list[dict[str, Any]], byte_level: bool, spaces: bool
) -> tuple[bytes | None, ...]:
    """The bytes of each id: None for special tokens, the unknown token, and ids without a token."""
    vocabulary = model["vocab"]
    named = (
        vocabulary.items() if isinstance(vocabulary, dict) else ((entry[0], id) for id, entry in enumerate(vocabulary))
    )
    unknown = model.get("unk_token") if isinstance(vocabulary, dict) else None
    by_id: dict[int, bytes | None] = {}
    fallback = bool(model.get("byte_fallback"))
    for token, id in named:
        by_id[id] = None if token == unknown else _bytes_of(token, byte_level, spaces, fallback)
    if isinstance(vocabulary, list) and model.get("unk_id") is not None:
        by_id[model["unk_id"]] = None
    for entry in added:
        by_id[entry["id"]] = None if entry["special"] else entry["content"].encode()
    size = max(by_id, default=-1) + 1
    if size > LARGEST_ID:
        raise UnsupportedTokenizer(f"id {size - 1}; at most {LARGEST_ID - 1} is read")
    return tuple(by_id.get(id) or None for id in range(size))


def _bytes_of(token: str, byte_level: bool, spaces: bool, fallback: bool) -> bytes | None:
    if byte_level:
        return spelled_bytes(token)
    if fallback and token in _BYTE_TOKENS:
        return bytes([int(token[3:5], 16)])
    return (token.replace(SPACE, " ") if spaces else token).encode("utf-8", "surrogatepass")


def _engine(settings: dict[str, Any], prepared: Preparation) -> "Tokenizer":
    """The tokenizer without what is ignored, and without truncation, padding and special tokens."""
    kept = {"type": "Sequence", "normalizers": prepared.kept} if prepared.kept else None
    engine = loaded(json.dumps({**settings, "normalizer": kept, "truncation": None, "padding": None}), "the tokenizer")
    engine.encode_special_tokens = True
    return engine


def _usual(added: list[dict[str, Any]], names: tuple[str, ...]) -> int | None:
    special = {entry["content"]: entry["id"] for entry in added if entry["special"]}
    return next((special[name] for name in names if name in special), None)


def _notes(prepared: Preparation, model: dict[str, Any]) -> tuple[str, ...]:
    notes = []
    if prepared.ignored:
        notes.append(f"texts are normalised already: {', '.join(prepared.ignored)} is left out")
    if prepared.spaces:
        notes.append("texts have no U+2581, which stands for a space")
    if prepared.prefix:
        notes.append("texts are not empty: the space before a text comes with its first character")
    if model.get("unk_token") or model.get("unk_id") is not None:
        notes.append("texts have only characters with tokens; others would become the unknown token")
    return tuple(notes)
