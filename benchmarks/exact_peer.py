"""genlm-bytes on a text, in an interpreter that has it: `PYTHON exact_peer.py FOLDER TEXT K PRUNE`; prints JSON.

It imports nothing of tokenlab. The beam of K candidates sums over all token strings, less what it drops. As its own
programs do, each byte asks for the distribution of the next byte, prunes, and goes on with the byte. Its queue waits up
to 20 ms for more queries of a batch; here 1 ms, so that waiting is not what is measured.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

_TIMEOUT = 0.001  # seconds


async def follow(model: Any, text: bytes, width: int, prune: float, end: bytes) -> dict[str, Any]:
    """log P(text), log P of each next byte and of the end after it, and what the model evaluated."""
    from genlm.bytes import BeamParams, ByteBeamState

    model.clear_cache()
    evaluated = _count(model)
    params = BeamParams(K=width, prune_threshold=prune, heal=False, eos_byte_strings=[end])
    state = await ByteBeamState.initial(model, params)
    start, cpu_start = time.perf_counter(), time.process_time()
    total, rows = 0.0, []
    for byte in text:
        found = (await state.logp_next()).ps
        rows.append([float(found[257]), *map(float, found[:256])])
        total += float(found[byte])
        state = await (state.prune() << byte)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    facts = {"log_probability": total, "prefix": float(state.logZ), **evaluated}
    await state.cleanup()
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "facts": facts, "rows": rows}


def _count(model: Any) -> dict[str, int]:
    """Passes, rows and tokens of the passes from now on."""
    counts = {"passes": 0, "contexts": 0, "tokens": 0}
    plain = type(model)._evaluate_queries

    def counted(queries: list[Any]) -> None:
        prompts = {tuple(query.prompt) for query in queries}
        counts["passes"] += 1
        counts["contexts"] += len(prompts)
        counts["tokens"] += sum(map(len, prompts))
        plain(model, queries)

    model._evaluate_queries = counted
    return counts


async def _main(folder: str, path: str, width: int, prune: float) -> dict[str, Any]:
    from genlm.backend.llm.hf import AsyncTransformer

    options = {"device_map": "cpu", "torch_dtype": "float32"}
    model = AsyncTransformer.from_name(folder, hf_opts=options, timeout=_TIMEOUT)
    text, end = Path(path).read_bytes(), model.tokenizer.eos_token.encode()
    await follow(model, text[:8], width, prune, end)
    found = await follow(model, text, width, prune, end)
    return found | {name: [found[name]] for name in ("seconds", "cpu_seconds")}


if __name__ == "__main__":
    folder, path, width, prune = sys.argv[1:]
    print(json.dumps(asyncio.run(_main(folder, path, int(width), float(prune)))))
