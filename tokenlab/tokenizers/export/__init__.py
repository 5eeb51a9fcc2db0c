"""Export of the statistical segmenter as a plain tokenizer of the field: `tokenizer.json` or a SentencePiece model.

The segmentation with the largest sum of len(w) U(w) is the one that a unigram tokenizer chooses when len(w) U(w) is the
score of piece w. `export_tokenizer` makes the tokenizer, `save_tokenizer_folder` writes it, `sentencepiece_model` gives
the same vocabulary in the format of SentencePiece, and `measure_agreement` compares a result with the segmenter. Words
of any other segmenter, such as the word model, become a tokenizer by `word_tokenizer`.
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
