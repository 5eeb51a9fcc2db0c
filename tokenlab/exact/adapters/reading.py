"""Real tokenizers from files and folders: the automaton of each format.

- tokenizer.json, GPT-2's pair: `hugging_face`.
- Ranks (tiktoken, Tekken): the engine is the same tokenizer in the library `tokenizers`; every way to make a token from
  two is a merge, and a word that is a token is not merged at all.
- SentencePiece, BPE: the whole text, a space put before it, is one word of characters; characters without a piece are
  spelled by byte pieces. Its engine is the library `tokenizers`, which finds user-defined pieces first.
- SentencePiece, Unigram: the best path by the sum of scores, in its engine as well.
"""

from pathlib import Path

from tokenlab.core.errors import InputError
from tokenlab.exact.adapters.hugging_face import from_tokenizer
from tokenlab.exact.adapters.real import HOW_TO_IGNORE, RealTokenizer, UnsupportedTokenizer, joined
from tokenlab.exact.encoders.byte_pair import BytePair
from tokenlab.exact.interface import TokenAutomaton
from tokenlab.exact.splits.reading import AddedTokens, read_splits
from tokenlab.exact.vocabulary import Vocabulary
from tokenlab.formats.hugging_face import LibraryTokenizer
from tokenlab.formats.pieces import SPACE, Algorithm, PieceKind, PieceModel
from tokenlab.formats.ranks import RankSettings, RankTokenizer
from tokenlab.formats.tokenizer_file import of_pieces, of_ranks
from tokenlab.formats.tokenizer_file import read_tokenizer as read_file


def read_tokenizer(
    path: str | Path, *, ignore_normalizer: bool = False, rank_settings: RankSettings | None = None
) -> RealTokenizer:
    """A real tokenizer with the automaton of its encodings.

    Args:
        path: a file or folder of any format of `tokenlab.formats.read_tokenizer`, such as a folder that `transformers`
            saved (its `tokenizer_config.json` then names BOS and EOS).
        ignore_normalizer: leave out a normaliser that makes several texts equal: texts must be normalised already.
        rank_settings: expression and special tokens of a rank file, which has neither; known for published files.

    Raises:
        InputError: there is no such file, or it is damaged or of another format.
        UnsupportedTokenizer: several texts have one encoding, or the tokenizer is not modelled; with an example.
    """
    path = Path(path)
    file = read_file(path, rank_settings)
    name = path.name if path.is_dir() else file.path.name
    if file.format == "SentencePiece":
        return _of_pieces(file.pieces, name, ignore_normalizer)
    if file.format in ("ranks", "Tekken"):
        return _of_ranks(file.ranks, name)
    bos, eos = file.ends
    return from_tokenizer(file.tokenizer, name=name, bos=bos, eos=eos, ignore_normalizer=ignore_normalizer)


def _of_ranks(ranks: RankTokenizer, name: str) -> RealTokenizer:
    """Raises UnsupportedTokenizer where its expression cannot be handled exactly, or does not cover all text."""
    try:
        engine = of_ranks(ranks, name, special=False)
    except InputError as error:
        raise UnsupportedTokenizer(str(error)) from error
    split = {"type": "Split", "pattern": {"Regex": ranks.pattern}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    word = BytePair.from_ranks(
        Vocabulary(ranks.tokens),
        [None if token is None else id for id, token in enumerate(ranks.tokens)],
        whole_words=True,
    )
    automaton = joined(
        word,
        read_splits({"type": "Sequence", "pretokenizers": [split, byte_level]}),
        None,
        lambda text: engine.encode(text, add_special_tokens=False).ids,
        ranks.tokens,
    )
    return RealTokenizer(name, automaton, engine, ranks.bos, ranks.eos)


def _of_pieces(model: PieceModel, name: str, ignore_normalizer: bool) -> RealTokenizer:
    """Raises UnsupportedTokenizer, with an example, for a normalisation that makes several texts equal."""
    ignored = _lossy(model)
    if ignored and not ignore_normalizer:
        raise UnsupportedTokenizer(f"{name}: {ignored[0]}; {HOW_TO_IGNORE}")
    _check_modelled(model, name)
    tokens = model.tokens
    vocabulary = Vocabulary(tokens)
    prefix = b" " if model.dummy_prefix else b""
    notes = ["texts have no U+2581, which stands for a space"]
    if prefix:
        notes.append("texts are not empty: the space before a text comes with its first character")
    if not model.byte_fallback:
        notes.append("texts have only characters with pieces; others would become the unknown piece")
    if ignored:
        notes.append(f"texts are normalised already: {model.normalizer or 'the normalisation'} is left out")
    word: TokenAutomaton
    added: dict[int, str] = {}
    if model.algorithm == Algorithm.BPE:
        for id, (piece, token) in enumerate(zip(model.pieces, tokens, strict=True)):
            if piece.kind == PieceKind.USER_DEFINED and token is not None:
                added[id] = token.decode()
        word = BytePair.from_ranks(
            vocabulary,
            [-piece.score if piece.kind == PieceKind.NORMAL else None for piece in model.pieces],
            byte_fallback=model.byte_ids or None,
            absent=[SPACE.encode()],
        )
    else:
        from tokenlab.exact.encoders.unigram import Unigram

        word = Unigram(vocabulary, model.unigram_scores)
    engine = LibraryTokenizer(of_pieces(model, name, ignore_normalizer=True)).bare

    def encode(text: str) -> list[int]:
        return engine.encode(prefix.decode() + text, add_special_tokens=False).ids if text else []

    automaton = joined(word, (), AddedTokens.from_mapping(added) if added else None, encode, tokens, prefix)
    return RealTokenizer(name, automaton, engine, model.bos, model.eos, tuple(notes))


def _lossy(model: PieceModel) -> list[str]:
    """What makes several texts equal, each with an example."""
    found = []
    if model.character_map:
        found.append(
            f"the normalisation {model.normalizer} makes texts equal: '\uff21' and 'A'"
            if "nfkc" in model.normalizer
            else f"the normalisation {model.normalizer or 'of its table'} may make texts equal"
        )
    if model.squeezes_spaces:
        found.append("spaces are removed: 'a  b' and 'a b' are the same")
    return found


def _check_modelled(model: PieceModel, name: str) -> None:
    if model.algorithm not in (Algorithm.BPE, Algorithm.UNIGRAM):
        raise UnsupportedTokenizer(
            f"{name}: SentencePiece's {model.algorithm.name} is not modelled; BPE and Unigram are"
        )
    if model.suffix_spaces or not model.escapes_spaces:
        raise UnsupportedTokenizer(f"{name}: a space that stays or goes to the end of the text is not modelled")
    if model.algorithm == Algorithm.UNIGRAM and model.byte_fallback:
        raise UnsupportedTokenizer(f"{name}: Unigram with byte fallback is not modelled")
    if model.algorithm == Algorithm.BPE and any(piece.kind == PieceKind.UNUSED for piece in model.pieces):
        raise UnsupportedTokenizer(f"{name}: BPE with unused pieces, which are divided again, is not modelled")
