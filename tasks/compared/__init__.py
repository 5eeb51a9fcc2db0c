"""Every way of cutting on equal terms: tokenizers, codes and patches of one text, and language models over them."""
