"""Pre-tokenizers with look-ahead as automata over tokens.

`reading.read_splits` reads the pre-tokenizer of a tokenizer.json; `composed.SplitEncoding` joins it with the automaton
of the words (BPE, for example) and with added tokens.
"""
