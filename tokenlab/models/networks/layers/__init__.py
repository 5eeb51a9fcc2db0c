"""Layers of the networks: packed sequences, blocks of attention and SwiGLU, the output layer, and their kernels."""
