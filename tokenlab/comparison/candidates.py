"""Candidates: ways of cutting a text, trained on its training part or read from what was saved.

A candidate is a folder, or a file, that `read_candidate` turns into a coder for language models:

    tokenizer.json           tokens of a tokenizer; or any other format of `tokenlab.formats.read_tokenizer`
    code.json                a character code, tokenizer.json beside it if there are tokens over its atoms
    coder.json               what `Coder.save` writes: bytes, tokens, or patches, with a second BPE or without
    code.json, patcher/      a character code, whose atoms are the symbols of a patcher's patches
    chunks.json              bytes, of which the model learns its own chunks
    patcher.json             a patcher

Patches that are tokens of a tokenizer without a second BPE are its tokens.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tokenlab.codes.corpus import character_corpus
from tokenlab.codes.interface import Code, atom_numbers, atoms, read_document
from tokenlab.codes.registry import learn_code
from tokenlab.comparison.chunk_coder import CHUNKS, ChunkCoder
from tokenlab.comparison.code_coder import CODE, CodeCoder, atom_count
from tokenlab.comparison.code_patches import PATCHER, CodePatchCoder
from tokenlab.core.errors import InputError
from tokenlab.core.files import atomic_folder
from tokenlab.language.coding import Coder, PatchCoder, TokenCoder, read_coder
from tokenlab.metrics.words import word_rule
from tokenlab.patches.bpe import BpePatcher, read_bpe_patcher, read_tokenizer_patcher
from tokenlab.patches.registry import is_patcher, read_patcher
from tokenlab.text.documents import Document
from tokenlab.tokenizers.bpe import bpe_tokenizer
from tokenlab.tokenizers.cuts import Cut, make_cut
from tokenlab.tokenizers.hierarchical import learn_hierarchical
from tokenlab.tokenizers.merges import bpe_sweep
from tokenlab.tokenizers.options import TrainOptions
from tokenlab.tokenizers.piece_counts import PieceCounts, count_pieces
from tokenlab.tokenizers.trained import save_trained, train_tokenizers

_CODER = "coder.json"


class TokenRecipe(NamedTuple):
    """A tokenizer of `tokenlab train`. options: with one size of the vocabulary, and without special tokens."""

    name: str
    cut: str
    options: TrainOptions


class CodeRecipe(NamedTuple):
    """A character code, and BPE over its atoms. kind: as of `learn_code`, with its default options. vocabulary: None
    takes the atoms without merges. cut: of `make_cut`; its pieces, where no merge crosses in training, are not cut
    again in use. tables: the folder of the kinds from published tables."""

    name: str
    kind: str
    vocabulary: int | None
    cut: str = "none"
    tables: Path | None = None


class PatchRecipe(NamedTuple):
    """Patches that are the tokens of a recipe, spelled by a second BPE in at most `longest` symbols."""

    name: str
    tokens: TokenRecipe
    longest: int


Recipe = TokenRecipe | CodeRecipe | PatchRecipe


def token_recipe(name: str, cut: str, vocabulary: int, **options: str) -> TokenRecipe:
    """A recipe; options: other ones of `TrainOptions`."""
    return TokenRecipe(name, cut, TrainOptions((vocabulary,), special_tokens=(), **options))  # type: ignore[arg-type]


def suited_recipes(documents: Sequence[str], vocabulary: int) -> list[Recipe]:
    """The candidates for a text whose cut nobody named, for its script; the first one is plain byte-level BPE."""
    unspaced = word_rule([Document("", document) for document in documents]) == "none"
    plain = token_recipe("gpt2", "gpt2", vocabulary)
    recipes: list[Recipe] = [
        plain,
        token_recipe("gpt2-small", "gpt2", max(256, vocabulary // 4)),
        token_recipe("auto", "auto", vocabulary),
        token_recipe("uncut", "none", vocabulary),
        token_recipe("unigram", "auto", vocabulary, model="unigram", byte_tokens="fallback"),
        PatchRecipe("patches", plain, 10),
    ]
    return (
        [*recipes, CodeRecipe("latom", "latom", vocabulary)]
        if unspaced
        else [*recipes, token_recipe("bytes", "none", 256)]
    )


def train_candidates(
    recipes: Sequence[Recipe],
    documents: Sequence[str],
    folder: Path,
    progress: Callable[[str], None] | None = None,
    cuts: Mapping[str, Cut] | None = None,
) -> list[Path]:
    """Train candidates on documents, each into FOLDER/NAME, atomically; one that is there already is kept.

    progress: called with the name before each training. cuts: those that are made already, by name.

    Raises InputError and ParameterError as `train_tokenizers` and `learn_code`: a text too small for the vocabulary.
    """
    shared = _Shared(documents, cuts or {})
    for recipe in recipes:
        if (folder / recipe.name).exists():
            continue
        if progress is not None:
            progress(recipe.name)
        with atomic_folder(folder / recipe.name) as place:
            if isinstance(recipe, CodeRecipe):
                _train_code(recipe, shared).save(place)
            elif isinstance(recipe, PatchRecipe):
                _train_patches(recipe, shared).save(place)
            else:
                _train_tokens(recipe, shared, place)
    return [folder / recipe.name for recipe in recipes]


class _Shared:
    """What recipes learn from: counts of pieces for each cut, and codes; each is made once."""

    def __init__(self, documents: Sequence[str], cuts: Mapping[str, Cut]) -> None:
        self._documents, self._cuts = documents, cuts
        self.counts, self.code = cache(self._counts), cache(self._code)

    def _counts(self, cut: str) -> PieceCounts:
        made = self._cuts.get(cut) or make_cut(cut, self._documents)
        return count_pieces(self._documents, [made])[0]

    def _code(self, kind: str, tables: Path | None) -> Code:
        return learn_code(kind, character_corpus(self._documents), unknown="byte", tables=tables)


def _train_tokens(recipe: TokenRecipe, shared: _Shared, place: Path) -> None:
    (tokenizer,) = train_tokenizers(shared.counts(recipe.cut), recipe.options)
    save_trained(tokenizer, (), place)


def _train_code(recipe: CodeRecipe, shared: _Shared) -> CodeCoder:
    """The code, and BPE over all its atoms."""
    code = shared.code(recipe.kind, recipe.tables)
    if recipe.vocabulary is None:
        return CodeCoder(code)
    counts = shared.counts(recipe.cut)
    pieces = [atom_numbers(code.encode(piece)) for piece in counts.pieces]
    alphabet, offsets = atom_count(code), np.cumsum([0, *map(len, pieces)])
    size = max(recipe.vocabulary, alphabet)
    sweep = bpe_sweep(np.concatenate(pieces), offsets, alphabet, [size], counts.counts)
    return CodeCoder(code, bpe_tokenizer(sweep.merges, atoms(alphabet)))


def _train_patches(recipe: PatchRecipe, shared: _Shared) -> PatchCoder:
    with tempfile.TemporaryDirectory() as name:
        _train_tokens(recipe.tokens, shared, Path(name, "tokens"))
        patcher = read_bpe_patcher(Path(name, "tokens"), recipe.tokens.name)
    return PatchCoder(patcher, learn_hierarchical([token for token in patcher.tokens if token], recipe.longest))


def read_candidate(path: str | Path) -> Coder:
    """The coder of a candidate.

    Args:
        path: as in the module.

    Raises InputError where there is none, or it is damaged or cannot be decoded.
    """
    path = Path(path)
    if (path / _CODER).is_file():
        return read_coder(path)
    if (path / CHUNKS).is_file():
        return ChunkCoder.read(path)
    if (path / CODE).is_file() and (path / PATCHER).is_dir():
        return CodePatchCoder.read(path)
    if (path / CODE).is_file() or _is_code(path):
        return CodeCoder.read(path)
    if is_patcher(path):
        patcher = read_patcher(path)
        if isinstance(patcher, BpePatcher):
            return TokenCoder(patcher)
        if not patcher.causal:
            raise InputError(f"{path}: its patches need bytes after their ends, so no language model can read them")
        return PatchCoder(patcher)
    return TokenCoder(read_tokenizer_patcher(path))


def _is_code(path: Path) -> bool:
    """Whether a file is the document of a code; a tokenizer.json is none."""
    if not path.is_file():
        return False
    try:
        read_document(path)
    except InputError:
        return False
    return True
