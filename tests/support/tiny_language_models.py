"""Language models of every kind with a few thousand random weights, whose predictions are far from uniform."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers

from tokenlab.language.coding import ByteCoder, Coder, PatchCoder, TokenCoder
from tokenlab.language.stored import LanguageModel
from tokenlab.networks.options import SIZES, ChunkShape, HashShape, PatchShape, Shape, StackShape, TokenShape
from tokenlab.networks.stored import build_network
from tokenlab.patches.bpe import read_bpe_patcher
from tokenlab.patches.by_bytes import CharacterPatcher, SpacePatcher
from tokenlab.patches.entropy_patcher import EntropyPatcher
from tokenlab.patches.options import EntropyOptions, SpaceOptions
from tokenlab.patches.registry import save_patcher
from tokenlab.tokenizers.bpe import train_byte_level
from tokenlab.tokenizers.hierarchical import learn_hierarchical

TEXT = "the thing that they think, then: 你好吗, and the ending of things; "
LATENT, LOCAL = StackShape(2, 32, 2, 48), StackShape(2, 16, 2, 24)
S = 4

KINDS = ("bytes", "tokens", "bpe", "space-hash", "character", "entropy", "chunks")
"""Those that differ; a model of patches "space" computes as one of "character"."""


def language_model(kind: str, folder: Path, context: int = 64) -> LanguageModel:
    """A model of one of `KINDS`, or of "spaced" tokens; its tokenizer, if it has one, is written into the folder."""
    coder = _coder(kind, folder)
    network = sharp_network(_shape(kind, coder))
    return LanguageModel(network, coder, context)


def sharp_network(shape: Shape, seed: int = 0) -> torch.nn.Module:
    """A network in evaluation mode whose weights are much larger than new ones, so that everything it reads matters."""
    network = build_network(shape, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            # Gains around 1.5: predictions of about 2 bits a byte.
            spread = torch.randn(weight.shape, generator=generator)
            weight.copy_(spread * 0.25 if weight.dim() > 1 else 1.5 + 0.3 * spread)
    return network.eval()


def tokenizer_file(folder: Path) -> Path:
    """A byte-level BPE tokenizer.json that knows TEXT."""
    path = folder / "tokenizer.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        train_byte_level([TEXT] * 3, 300).save(str(path))
    return path


def spaced_tokenizer_file(folder: Path) -> Path:
    """A tokenizer.json of a few pieces and bytes that puts a space before a text, as SentencePiece has it."""
    vocabulary = {f"<0x{byte:02X}>": byte for byte in range(256)} | {"\u2581": 256, "a": 257, "b": 258, "\u2581a": 259}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("\u2581", "a")], byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.save(str(folder / "spaced.json"))
    return folder / "spaced.json"


def save_entropy_patcher(folder: Path) -> None:
    """A patcher by the entropies of a network with new weights, into a new or empty folder."""
    network = build_network(TokenShape(256, SIZES["tiny"][0]), 0)
    save_patcher(EntropyPatcher(network, 32, EntropyOptions(threshold=5.45, cap=5)), folder)


def _coder(kind: str, folder: Path) -> Coder:
    match kind:
        case "bytes" | "chunks":
            return ByteCoder()
        case "tokens":
            return TokenCoder(tokenizer_file(folder))
        case "spaced":
            return TokenCoder(spaced_tokenizer_file(folder))
        case "bpe":
            patcher = read_bpe_patcher(tokenizer_file(folder))
            return PatchCoder(patcher, learn_hierarchical([token for token in patcher.tokens if token], S))
        case "space" | "space-hash":
            return PatchCoder(SpacePatcher(SpaceOptions(cap=6)))
        case "character":
            return PatchCoder(CharacterPatcher())
    network = sharp_network(TokenShape(256, LOCAL), 7)
    return PatchCoder(EntropyPatcher(network, 64, EntropyOptions(threshold=1.0, cap=7)))


def _shape(kind: str, coder: Coder) -> Shape:
    if kind in ("bytes", "tokens", "spaced"):
        return TokenShape(len(coder.spellings), LATENT)
    if kind == "chunks":
        return ChunkShape(LATENT, LOCAL)
    table = HashShape(rows=100, smallest=2, largest=8) if kind == "space-hash" else None
    return PatchShape(len(coder.spellings), kind == "bpe", LATENT, LOCAL, table)
