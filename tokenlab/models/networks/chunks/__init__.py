"""Networks that learn where to cut bytes into chunks: one stage of H-Net's dynamic chunking (PyTorch)."""
