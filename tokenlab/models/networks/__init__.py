"""Networks of language models over tokens, bytes, patches and learned chunks, from shared blocks (PyTorch)."""
