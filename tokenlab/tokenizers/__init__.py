"""Tokenizers: training, spans of tokens in the text, export in the format of Hugging Face, and a second BPE inside the
tokens of another one (`learn_hierarchical`)."""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(
    __name__,
    {
        "bpe": [
            "BpeOptions",
            "PreTokenizer",
            "bpe_tokenizer",
            "save_tokenizer",
            "token_spans",
            "train_bpe",
            "unigram_tokenizer",
        ],
        "alphabet": ["Alphabet", "AlphabetOptions", "Level", "learn_alphabet"],
        "merges": ["BpeSweep", "SizeRows", "apply_merges", "bpe_sweep", "token_widths", "tokenize"],
        "hierarchical": ["HierarchicalBPE", "learn_hierarchical", "vocabulary_of"],
        "measured": ["HuggingFaceTokenizer", "SpellingTokenizer", "read_text_tokenizer"],
        "cuts": ["Cut", "make_cut"],
        "options": ["TrainOptions"],
        "piece_counts": ["PieceCounts", "count_pieces", "merge_counts", "read_counts", "write_counts"],
        "trained": ["cut_differently", "save_trained", "train_tokenizers", "unreached_tokens"],
        "unigram": ["UnigramModel", "UnigramSweep", "unigram_counts", "unigram_sweep", "unigram_tokenize"],
    },
)
