"""Text as bytes of which a model learns its own chunks (H-Net): see `tokenlab.networks.chunk_network`."""

import json
from pathlib import Path

from tokenlab.core.errors import InputError
from tokenlab.core.files import write_text
from tokenlab.language.coding import ByteCoder

CHUNKS = "chunks.json"


class ChunkCoder(ByteCoder):
    """Bytes. ratio: the mean number of bytes in a chunk that the model aims at, above 1."""

    def __init__(self, ratio: float) -> None:
        self.ratio = ratio

    def save(self, folder: Path) -> None:
        """Write chunks.json into an existing folder; `read` reads it."""
        write_text(folder / CHUNKS, json.dumps({"ratio": self.ratio}) + "\n")

    @classmethod
    def read(cls, folder: Path) -> "ChunkCoder":
        """What `save` wrote. Raises InputError for damage."""
        try:
            return cls(float(json.loads((folder / CHUNKS).read_text(encoding="utf-8"))["ratio"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{folder / CHUNKS}: damaged ({error}); train the candidate again") from None
