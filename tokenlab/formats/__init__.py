"""Files of published tokenizers, read as data: rank files, Tekken, SentencePiece models, GPT-2's pair of files.

The files are foreign. Every size and index in them is checked, errors are one line, and nothing in them is run.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "ranks": ["RankTokenizer", "read_ranks", "read_rank_tokenizer", "read_tekken"],
        "pieces": ["Piece", "PieceModel", "read_pieces"],
        "byte_level": ["byte_characters", "spelled_bytes"],
        "gpt2": ["read_gpt2"],
    },
)
