"""What only the experiments of the paper need: its two algorithms, Markov chains, and their exact tokenized models."""
