"""Tokenizers of the library `tokenizers` (tokenizer.json), whatever they were made from.

1. The normaliser is exact, ignored, or the reason for a refusal (`preparation`). What SentencePiece does with spaces is
   exact: one before the text, and U+2581 for each. After a normaliser that makes two texts equal there are no exact
   character probabilities: the tokens do not say which text they stand for.
2. The tokens as bytes (`tokenlab.formats.LibraryTokenizer`).
3. The word automaton by the model: BPE, Unigram, WordPiece without a mark of continuation, or WordLevel of single
   characters; the splits and added tokens around it (`tokenlab.exact.splits`).

Special tokens spell no text: text that looks like one is ordinary text, for the engine, too (`LibraryTokenizer.bare`).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.real import HOW_TO_IGNORE, RealTokenizer, UnsupportedTokenizer, joined
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.encoders.maximum_prefix import MaximumPrefix
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.reading import Splits, read_added_tokens, read_splits
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.formats.hugging_face import PLACES, USUAL_BOS, USUAL_EOS, LibraryTokenizer, loaded, steps
from tokenlab.formats.pieces import BYTE_PIECES, SPACE

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Normalizer

PAIRS = (
    ("e\u0301", "\u00e9"),
    ("A", "a"),
    ("\u00e9", "e"),
    ("\uff21", "A"),
    ("\u2460", "1"),
    (" a", "a"),
    ("a ", "a"),
    ("a  b", "a b"),
    ("a\n", "a"),
    ("a\nb", "a b"),
    ("a\tb", "a b"),
    ("a\u00a0b", "a b"),
    ("a\u200db", "ab"),
    ("a\u0000b", "ab"),
    ("``", '"'),
    ("''", '"'),
)
"""Two texts each that usual normalisers make equal."""
_LONG_WORD = 100_000


@dataclass
class Preparation:
    """What is done to a text, and what of it is kept.

    Attributes:
        prefix: bytes put before a text.
        spaces: whether a space becomes U+2581, so that no text holds that character.
        kept: the entries of the normaliser that are kept.
        ignored: names of the entries that are left out.
    """

    prefix: bytes = b""
    spaces: bool = False
    kept: list[dict[str, Any]] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


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
    try:
        return _read(tokenizer, name, (bos, eos), ignore_normalizer)
    except InputError as error:  # of splits and word automata, too; their messages have the reason
        raise UnsupportedTokenizer(f"{name}: {error}") from error


def _read(tokenizer: "Tokenizer", name: str, ends: tuple[int | None, int | None], ignore: bool) -> RealTokenizer:
    settings = json.loads(tokenizer.to_str())
    example = collision(tokenizer.normalizer)
    prepared = preparation(settings.get("normalizer"), ignore=ignore, example=example)
    _prepare_metaspace(settings, prepared, ignore)
    library = LibraryTokenizer(_engine(settings, prepared))
    # Without special tokens, which Unigram finds in texts, and without the prefix, which the automaton knows.
    engine, prefix = library.bare, prepared.prefix.decode()
    tokens, added = library.tokens, library.settings["added_tokens"]
    model = library.settings["model"]  # as the engine reads it: Unigram's ties are decided by the last place of a score
    vocabulary = Vocabulary(tokens)
    plain = [entry for entry in added if not entry["special"]]
    if plain and prepared.prefix:
        text = plain[0]["content"]
        raise UnsupportedTokenizer(
            f"the text after the added token {text!r} gets a space of its own, as in {text + 'a'!r}"
        )
    if prepared.spaces and model.get("byte_fallback") and SPACE not in model["vocab"]:
        raise UnsupportedTokenizer(f"a space becomes {SPACE}, which is no token: ' ' is spelled by bytes of {SPACE}")
    automaton = joined(
        _word_automaton(model, vocabulary, absent=[SPACE.encode()] if prepared.spaces else []),
        _splits(settings),
        read_added_tokens([{**entry, "content": _text(entry, tokens)} for entry in added]),
        lambda text: engine.encode(prefix + text, add_special_tokens=False).ids if text else [],
        tokens,
        prepared.prefix,
        of_bytes=library.byte_level,
    )
    bos, eos = (
        given if given is not None else _usual(added, names)
        for given, names in zip(ends, (USUAL_BOS, USUAL_EOS), strict=True)
    )
    return RealTokenizer(name, automaton, library.tokenizer, bos, eos, _notes(prepared, library))


def _text(entry: dict[str, Any], tokens: Sequence[bytes | None]) -> str:
    """The text of an added token, in which U+2581 may stand for a space."""
    spelled = tokens[entry["id"]]
    return entry["content"] if spelled is None else spelled.decode()


def _splits(settings: dict[str, Any]) -> Splits:
    """The splits, none for WordLevel: there a split into characters only says that all tokens are characters."""
    pre_tokenizer = settings.get("pre_tokenizer")
    if settings["model"]["type"] != "WordLevel":
        return read_splits(pre_tokenizer)
    split = pre_tokenizer or {}
    if (split.get("pattern"), split.get("behavior")) != ({"Regex": r"[\s\S]"}, "Isolated"):
        raise UnsupportedTokenizer(
            "WordLevel makes words that are no token unknown; it is exact only behind a split into single characters"
        )
    return ()


def _prepare_metaspace(settings: dict[str, Any], prepared: Preparation, ignore: bool) -> None:
    """Metaspace replaces spaces as a normaliser does; the space that it puts before a text is lossy."""
    parts = list(steps(settings.get("pre_tokenizer")))
    metaspaces = [part for part in parts if part.get("type") == "Metaspace"]
    if metaspaces:
        if metaspaces[0].get("replacement") != SPACE or len(parts) > 1:
            raise UnsupportedTokenizer(
                "Metaspace with another replacement, or beside other pre-tokenizers, is not modelled"
            )
        prepared.spaces = True
        if ignore and metaspaces[0].get("prepend_scheme", "always") != "never":
            metaspaces[0]["prepend_scheme"] = "never"
            prepared.ignored.append("Metaspace (its space before the text)")
    elif prepared.spaces and parts:
        raise UnsupportedTokenizer(f"a pre-tokenizer that sees {SPACE} in place of spaces is not modelled")
    for part in parts:
        if ignore and part.get("type") == "ByteLevel" and part.get("add_prefix_space"):
            part["add_prefix_space"] = False
            prepared.ignored.append("ByteLevel (its space before the text)")


def _engine(settings: dict[str, Any], prepared: Preparation) -> "Tokenizer":
    """The tokenizer without what is ignored, and without truncation, padding and special tokens."""
    kept = {"type": "Sequence", "normalizers": prepared.kept} if prepared.kept else None
    engine = loaded(json.dumps({**settings, "normalizer": kept, "truncation": None, "padding": None}), "the tokenizer")
    engine.encode_special_tokens = True
    return engine


def _usual(added: list[dict[str, Any]], names: tuple[str, ...]) -> int | None:
    special = {entry["content"]: entry["id"] for entry in added if entry["special"]}
    return next((special[name] for name in names if name in special), None)


def _notes(prepared: Preparation, library: LibraryTokenizer) -> tuple[str, ...]:
    notes = []
    if prepared.ignored:
        notes.append(f"texts are normalised already: {', '.join(prepared.ignored)} is left out")
    if prepared.spaces:
        notes.append("texts have no U+2581, which stands for a space")
    if prepared.prefix:
        notes.append("texts are not empty: the space before a text comes with its first character")
    if library.missing_bytes:
        otherwise = "would be lost" if library.unknown is None else "would become the unknown token"
        notes.append(f"texts have only characters with tokens; others {otherwise}")
    return tuple(notes)


def preparation(normalizer: dict[str, Any] | None, *, ignore: bool, example: str) -> Preparation:
    """Sort the entries of a normaliser (as in tokenizer.json) into exact ones and others.

    Raises UnsupportedTokenizer with `example` for others, unless they are to be ignored.
    """
    result = Preparation()
    for entry in steps(normalizer):
        kind = entry.get("type")
        if kind == "Prepend" and entry.get("prepend") == SPACE and not result.prefix:
            result.prefix = b" "
        elif kind == "Replace" and entry.get("pattern") == {"String": " "} and entry.get("content") == SPACE:
            result.spaces = True
        elif not ignore:
            raise UnsupportedTokenizer(f"the normaliser {kind} changes the text: {example}; {HOW_TO_IGNORE}")
        else:
            result.ignored.append(str(kind))
            continue
        result.kept.append(entry)
    if result.prefix and not result.spaces:
        raise UnsupportedTokenizer(
            f"the normaliser puts {SPACE} before a text but keeps spaces: {SPACE}a stands for two"
        )
    return result


def collision(normalizer: "Normalizer | None") -> str:
    """Two texts that a normaliser makes equal, in words; "" without a normaliser."""
    if normalizer is None:
        return ""
    for one, other in PAIRS:
        result = normalizer.normalize_str(one)
        if result == normalizer.normalize_str(other):
            return f"{one!a} and {other!a} both become {result!a}"
    return "no two equal results were found, but this normaliser is not known to keep texts apart"


def _word_automaton(model: dict[str, Any], vocabulary: Vocabulary, absent: Iterable[bytes]) -> TokenAutomaton:
    """The automaton of the encodings of single words.

    Args:
        model: the `model` of tokenizer.json.
        vocabulary: all tokens, added ones too.
        absent: characters that no text has.

    Raises UnsupportedTokenizer, with the reason.
    """
    kind = model.get("type")
    if kind == "BPE":
        return _byte_pair(model, vocabulary, absent)
    if kind == "Unigram":
        return _unigram(model, vocabulary)
    if kind == "WordPiece":
        return _word_piece(model, vocabulary)
    if kind == "WordLevel":
        return _characters(vocabulary)
    raise UnsupportedTokenizer(f"the model {kind} is not modelled; BPE, Unigram and some of WordPiece are")


def _byte_pair(model: dict[str, Any], vocabulary: Vocabulary, absent: Iterable[bytes]) -> TokenAutomaton:
    for mark in PLACES:
        if model.get(mark):
            raise UnsupportedTokenizer(f"BPE with {mark} {model[mark]!r}: tokens depend on their place in a word")
    ids = model["vocab"]
    merges = []
    for merge in model["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left not in ids or right not in ids or left + right not in ids:
            raise UnsupportedTokenizer(f"a merge of {left!r} and {right!r}, which make no token")
        merges.append((ids[left], ids[right], ids[left + right]))
    fallback = [ids.get(piece) for piece in BYTE_PIECES] if model.get("byte_fallback") else None
    if fallback and None in fallback:
        raise UnsupportedTokenizer(f"byte fallback without a token for byte 0x{fallback.index(None):02X}")
    return BytePair(
        vocabulary,
        merges,
        whole_words=bool(model.get("ignore_merges")),
        byte_fallback=[id for id in fallback if id is not None] if fallback else None,
        absent=absent,
    )


def _unigram(model: dict[str, Any], vocabulary: Vocabulary) -> TokenAutomaton:
    if model.get("byte_fallback"):
        raise UnsupportedTokenizer("Unigram with byte fallback: the text '<0x41>' and the byte 0x41 have one token")
    from tokenlab.exact.encoders.unigram import Unigram

    scores = [score for _, score in model["vocab"]]
    if len(scores) == len(vocabulary.tokens):
        return Unigram(vocabulary, scores)
    # Added tokens have no score: the splits find them before words are made.
    added = len(vocabulary.tokens) - len(scores)
    return Unigram(Vocabulary([*vocabulary.tokens[: len(scores)], *[None] * added]), [*scores, *[max(scores)] * added])


def _word_piece(model: dict[str, Any], vocabulary: Vocabulary) -> TokenAutomaton:
    mark, longest = model.get("continuing_subword_prefix"), model.get("max_input_chars_per_word", 100)
    if mark:
        raise UnsupportedTokenizer(f"WordPiece with {mark!r} before tokens inside a word: they depend on their place")
    if longest < _LONG_WORD:
        raise UnsupportedTokenizer(
            f"WordPiece replaces words of more than {longest} characters by the unknown token; allow {_LONG_WORD}"
        )
    return MaximumPrefix(vocabulary)


def _characters(vocabulary: Vocabulary) -> TokenAutomaton:
    """WordLevel makes words that are no token unknown, so it is exact only where all words are single characters."""
    single = [token if token is None or len(token.decode()) == 1 else None for token in vocabulary.tokens]
    return MaximumPrefix(Vocabulary(single))
