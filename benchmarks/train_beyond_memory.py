"""Training a tokenizer on English that no memory should hold: time and memory of `tokenlab train`."""

from benchmarks.corpora import english
from benchmarks.measure import Bench, table_of
from benchmarks.resampled import drawn

TITLE = "Training beyond memory"
TEXTS = ()
RUNS = 1
_GIGABYTES = {False: (1.0, 10.0), True: (0.002,)}
_CONTEXT = 5
_ENTRIES = {False: "32000", True: "1000"}


def table(bench: Bench) -> list[str]:
    """Measure the whole command, its start included, which reads what another process makes; Markdown."""
    source = bench.folder / "english.txt"
    source.write_text("\n".join(english()) + "\n", encoding="utf-8")
    written = source.read_bytes()
    characters_of_byte = (len(written) - written.count(b" ") - written.count(b"\n")) / len(written)
    made, rows = bench.folder / "tokenizer", []
    command = ["train", "-", "--memory", "1G", "--vocabulary", _ENTRIES[bench.quick], "-o", str(made)]
    for gigabytes in _GIGABYTES[bench.quick]:
        text = drawn(str(source), int(gigabytes * 1e9 * characters_of_byte), _CONTEXT)
        found = bench.measure_command(command, text, once=True)
        (cpu,) = found.cpu_seconds
        rows.append([f"{gigabytes:g}", f"{cpu:,.0f}", f"{1e3 * gigabytes / cpu:.1f}", f"{found.peak / 1e9:.2f}"])
    return table_of(["GB of text", "seconds of CPU", "MB/s", "resident, GB"], rows)
