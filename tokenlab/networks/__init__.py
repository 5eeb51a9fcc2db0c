"""Networks of language models over tokens, bytes, patches and learned chunks, from shared blocks (PyTorch).

small, local = SIZES["small"]
network = build_network(PatchShape(symbols=497, marker=True, latent=small, local=local), seed=0)
training_flops_per_byte(network.shape, context=8192, symbols=4.13 / 4.12, patches=1 / 4.12)
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
