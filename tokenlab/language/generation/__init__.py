"""Generation of text with caches at both levels."""
