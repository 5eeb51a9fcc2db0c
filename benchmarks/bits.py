"""The bit-level code: alone on Chinese text, and over base tokenizers, beside the speed of the base without it.

The bases are GPT-2's tokenizer (byte-level BPE) and Mistral's (pieces), where the mirror and data/raw have them, else
small ones trained on the text. Their engines are Hugging Face's `tokenizers` and, where TOKENLAB_GIGATOKEN_PYTHON names
an interpreter that has them, gigatoken and riptoken, which must give the same ids.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from tokenizers import __version__ as tokenizers_version

from benchmarks.corpora import verses
from benchmarks.measure import Bench, Facts, Measurement, Task, agree, table_of
from tokenlab.codes.bits.bit_code import CharacterBits
from tokenlab.codes.bits.over.bases import read_base
from tokenlab.codes.bits.over.tokenizer import BitTokenizer
from tokenlab.codes.bits.over.training import train_byte_fallback
from tokenlab.formats.tokenizer_file import read_tokenizer

TITLE = "Bit-level codes"
TEXTS = ("once",)
PEER = "TOKENLAB_GIGATOKEN_PYTHON"
PEERS = ("gigatoken", "riptoken")
_KNOWN = (0, 1_000, 3_000)
_MISTRAL = Path(__file__).resolve().parent.parent / "data/raw/tokenizers/mistral-v1"
_LANGUAGES = {"zh": "Chinese", "ja": "Japanese"}
_CHARACTERS = {False: 400_000, True: 3_000}  # of the texts for base tokenizers


def table(bench: Bench) -> list[str]:
    rows = []
    for known in _KNOWN:
        there, back = (bench.measure(f"bits:{way}", bench.text("once"), str(known)) for way in ("encode", "decode"))
        size = there.facts["bytes"] / 1e6
        length = there.facts["tokens"] / there.facts["characters"]
        rows.append([f"{known:,}", there.rate(size), back.rate(size), f"{length:.3f}"])
    heads = ["known characters", "text to ids, MB/s", "ids to text, MB/s", "tokens/character"]
    return [*table_of(heads, rows, left=0), "", *_over(bench)]


def _over(bench: Bench) -> list[str]:
    python = os.environ.get(PEER)
    lines = [
        f"Over a base, a verse a text, one thread; Hugging Face's tokenizers {tokenizers_version}:",
        "",
        "| base | text | engine | base alone, MB/s | with the code, MB/s | time / that alone | tokens / those alone "
        "| back alone, MB/s | back with the code, MB/s | time / that alone |",
        "| --- | --- | --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    notes = [] if python else [f"gigatoken and riptoken have no rows: {PEER} names no interpreter that has them."]
    for language, text_name in _LANGUAGES.items():
        path = bench.folder / f"{language}.json"
        texts = verses(language, _CHARACTERS[bench.quick])
        path.write_text(json.dumps(texts), encoding="utf-8")
        for name, tokenizer in _bases(texts, bench.quick).items():
            base = bench.folder / f"{name}-{language}.json"
            tokenizer.save(str(base))
            found = {task: bench.measure(f"bits:{task}", str(base), str(path)) for task in _OVER}
            agree(found["base"], found["base_back"])
            agree(found["over"], found["over_back"])
            lines.append(f"| {name} | {text_name} | Hugging Face | {_hugging_face(found)} |")
            for peer in PEERS if python else ():
                row = _peer(bench, str(python), peer, base, path, found)
                if row.startswith("no"):
                    notes.append(f"{name}, {text_name}, {peer}: {row}.")
                else:
                    lines.append(f"| {name} | {text_name} | {peer} | {row} | | | |")
    return [*lines, "", *notes]


def _bases(texts: list[str], quick: bool) -> dict[str, Tokenizer]:
    """The base tokenizers by their names in the table."""
    mirror = os.environ.get("TOKENLAB_MIRROR")
    bases = {}
    if mirror and not quick:
        bases["GPT-2"] = read_tokenizer(Path(mirror) / "gpt2").tokenizer
    else:
        byte_level = ByteLevelBPETokenizer()
        byte_level.train_from_iterator(texts, vocab_size=2_000, show_progress=False)
        bases["byte-level BPE"] = Tokenizer.from_str(byte_level.to_str())
    if _MISTRAL.is_dir() and not quick:
        bases["Mistral"] = read_tokenizer(_MISTRAL).tokenizer
    else:
        known = len(set("".join(texts))) // 2
        bases["pieces"] = train_byte_fallback(texts, 1_261 + known, known)
    return bases


def _hugging_face(found: dict[str, Measurement]) -> str:
    size = found["base"].facts["bytes"] / 1e6
    cells = []
    for alone, over in (("base", "over"), ("base_back", "over_back")):
        ratio = found[over].cpu / found[alone].cpu
        cells += [found[alone].rate(size), found[over].rate(size), f"{ratio:.2f}"]
        if alone == "base":
            cells.append(f"{found['over'].facts['tokens'] / found['base'].facts['tokens']:.3f}")
    return " | ".join(cells)


def _peer(bench: Bench, python: str, peer: str, base: Path, texts: Path, found: dict[str, Measurement]) -> str:
    """The cells of encoding by a peer, or "no ..." with the reason. With the code: the peer's time and the code's."""
    ids = bench.folder / "ids.npz"
    try:
        alone, _ = bench.measure_peer(python, "bits_peer.py", peer, str(base), str(texts), str(ids), str(bench.runs))
    except RuntimeError as error:
        return f"no row, {error}"
    code = bench.measure("bits:rewrite", str(base), str(ids))
    if code.facts["tokens"] != found["over"].facts["tokens"]:
        return "no row, its ids are others"
    size = found["base"].facts["bytes"] / 1e6
    both = f"{size / (alone.median + code.median):.3g} | {(alone.cpu + code.cpu) / alone.cpu:.2f}"
    return f"{alone.rate(size)} | {both} | "


def _encode(path: str, known: str) -> Task:
    text, bits = _text_and_code(path, int(known))

    def facts(ids: np.ndarray) -> Facts:
        return {"tokens": len(ids), "characters": len(text), "bytes": len(text.encode())}

    return Task(bits.encode, text[:100], text, facts)


def _decode(path: str, known: str) -> Task:
    text, bits = _text_and_code(path, int(known))

    def check(decoded: Any) -> Facts:
        if decoded.text != text:
            raise RuntimeError("decoding does not restore the text: no time is printed")
        return {}

    return Task(bits.decode, bits.encode(text[:100]), bits.encode(text), check)


def _text_and_code(path: str, known: int) -> tuple[str, CharacterBits]:
    """The text, and the code over its most frequent characters."""
    text = Path(path).read_text(encoding="utf-8")
    return text, CharacterBits("".join(character for character, _ in Counter(text).most_common(known)))


def _texts(path: str) -> list[str]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def _base(base: str, path: str) -> Task:
    texts = _texts(path)
    size = sum(len(text.encode()) for text in texts)
    return Task(read_base(base).encode_batch, texts[:3], texts, lambda found: _count(found) | {"bytes": size})


def _over_base(base: str, path: str) -> Task:
    texts = _texts(path)
    return Task(BitTokenizer(read_base(base)).encode_batch, texts[:3], texts, _count)


def _base_back(base: str, path: str) -> Task:
    texts, found = _texts(path), read_base(base)
    ids = [some.tolist() for some in found.encode_batch(texts)]
    tokens = sum(map(len, ids))
    return Task(found.tokenizer.decode_batch, ids[:3], ids, lambda decoded: _restored(decoded, texts, tokens))


def _over_back(base: str, path: str) -> Task:
    texts, bits = _texts(path), BitTokenizer(read_base(base))
    ids = bits.encode_batch(texts)
    tokens = sum(map(len, ids))
    return Task(bits.decode_batch, ids[:3], ids, lambda found: _restored([one.text for one in found], texts, tokens))


def _rewrite(base: str, path: str) -> Task:
    with np.load(path) as arrays:
        whole = arrays["ids"], arrays["starts"]
    bits = BitTokenizer(read_base(base))
    sample = whole[0][: whole[1][3]], whole[1][:4]
    return Task(lambda texts: bits.rewrite_joined(*texts), sample, whole, lambda found: {"tokens": len(found[0])})


def _count(found: list[np.ndarray]) -> Facts:
    return {"tokens": sum(map(len, found))}


def _restored(decoded: list[str], texts: list[str], tokens: int) -> Facts:
    if decoded != texts:
        raise RuntimeError("decoding does not restore the texts: no time is printed")
    return {"tokens": tokens}


_OVER = ("base", "over", "base_back", "over_back")
TASKS = {
    "encode": _encode,
    "decode": _decode,
    "base": _base,
    "over": _over_base,
    "base_back": _base_back,
    "over_back": _over_back,
    "rewrite": _rewrite,
}
