"""How the command ends from outside: Ctrl-C and termination at any moment, a reader that went away, a full disk."""

import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
from command import PROGRAM, tokenlab_here
from full_disk import no_file_above

from tokenlab.cli import main
from tokenlab.cli.ending import ended_well

# Sends the process a real signal at the import of the nth module, counted from the command's own package on. It runs in
# a process of its own for each n, forked from one that has only Python's own modules.
AT_AN_IMPORT = """
import os, signal, sys
number, arguments = getattr(signal, sys.argv[1]), sys.argv[3:]
def interrupted(nth):
    import tokenlab.cli
    seen = 0
    def on_import(event, details):
        nonlocal seen
        if event == "import":
            seen += 1
            if seen == nth:
                os.kill(os.getpid(), number)
    sys.addaudithook(on_import)
    sys.argv = ["tokenlab", *arguments]
    sys.exit(tokenlab.cli.main())
for nth in map(int, sys.argv[2].split(",")):
    read, write = os.pipe()
    if not (child := os.fork()):
        os.dup2(write, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        interrupted(nth)
    os.close(write)
    with open(read) as said:
        lines = said.read()
    print(nth, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), repr(lines))
"""
TEXT = "共同创造美好的新世纪\n美好的世纪\n"


def outcomes(name, moments, *arguments):
    command = [sys.executable, "-c", AT_AN_IMPORT, name, ",".join(map(str, moments)), *map(str, arguments)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {int(nth): (int(status), said) for nth, status, said in (line.split(" ", 2) for line in lines)}


def test_an_interrupt_during_imports_is_one_line(text):
    """Of the command's own modules, then of numpy, pyarrow and numba."""
    for nth, found in outcomes("SIGINT", [1, 60, 700], "segment", text).items():
        assert found == (130, repr("tokenlab: interrupted\n")), nth
    assert outcomes("SIGTERM", [40], "segment", text)[40] == (143, repr("tokenlab: ended by SIGTERM\n"))


@pytest.mark.nightly
def test_an_interrupt_at_many_imports_is_one_line(text):
    found = outcomes("SIGINT", range(2, 1400, 130), "segment", text)
    assert set(found.values()) <= {(130, repr("tokenlab: interrupted\n")), (0, "''")}
    assert sum(status == 130 for status, _ in found.values()) > 5


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_during_work_leaves_no_temporary_file(tmp_path, number, status):
    """The command reads from a pipe that stays open, so it is surely at work."""
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        [*PROGRAM, "bits", "measure", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    with process:
        process.stdin.write(TEXT.encode() * 50_000)  # More than a pipe holds: it reads, into a temporary file.
        process.stdin.flush()
        assert list((tmp_path / "temporary").iterdir())
        for _ in range(20):  # Between Python's look at its signals and a read from a pipe, one can get lost.
            process.send_signal(number)
            process.send_signal(number)  # pressed twice
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
                break
        said = process.stderr.read().decode()
    assert process.returncode == status and said.count("\n") == 1 and said.startswith("tokenlab: ")
    assert not list((tmp_path / "temporary").iterdir())


def test_an_ignored_interrupt_stays_ignored(text):
    """As of background jobs of a shell script."""
    program = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); " + PROGRAM[2].replace(
        "sys.exit(main())", "import os; os.kill(os.getpid(), signal.SIGINT); sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", program, "bits", "encode", text], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [["score", "missing", "missing"], ["--version"], []])
def test_a_caller_keeps_its_own_handlers(arguments):
    """A process that calls the command must not die of a closed pipe later on."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGPIPE]
    before = [signal.getsignal(number) for number in numbers]
    with suppress(SystemExit):
        main(arguments)
    assert [signal.getsignal(number) for number in numbers] == before


def test_the_command_and_the_module_are_the_same():
    (entry,) = entry_points(group="console_scripts", name="tokenlab")
    assert entry.value == "tokenlab.cli:main"
    command = [sys.executable, "-m", "tokenlab.cli", "--version"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True)
    assert printed.stdout == f"tokenlab {version('tokenlab')}\n"


def test_a_reader_that_went_away_ends_it_quietly(tmp_path):
    (tmp_path / "temporary").mkdir()
    given = ["bash", "-c", 'yes 日本 | head -n 8000 | "$@" | head -n 1; echo ${PIPESTATUS[2]}', "bash"]
    done = subprocess.run(
        [*given, *PROGRAM, "bits", "encode"], capture_output=True, env={**os.environ, "TMPDIR": f"{tmp_path}/temporary"}
    )
    *_, status = done.stdout.split()
    assert (done.stderr, status) == (b"", b"141") and done.stdout.count(b"\n") == 2
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-"])
def test_closed_streams(text, closed):
    source = "-" if closed.startswith("0") else str(text)
    command = ["bash", "-c", f'"$@" {closed}', "bash", *PROGRAM, "bits", "encode", source]
    done = subprocess.run(command, capture_output=True)
    if closed.startswith("2"):
        assert done.returncode == 0 and done.stdout.count(b"\n") == 2
    else:
        assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"closed" in done.stderr


FULL = {
    "statistics -o OUT/s.parquet": "OUT/s.parquet",
    "statistics --memory 1G -o OUT/s.parquet": "OUT: no room",
    "count -o OUT/c.parquet": "OUT/c.parquet",
    "count --memory 1G -o OUT/c.parquet": "no room",
    "train --vocabulary 300 --cut gpt2 -o OUT/tokenizer": "OUT/tokenizer",
    "codes learn --code byte -o OUT/code.json": "OUT/code.json",
    "export -o OUT/tokenizer": "OUT/tokenizer",
    "export --to sentencepiece -o OUT/sp.model": "OUT/sp.model",
    "bits encode": "the result: no room",
    "bits encode -": "standard input: no room",
}


@pytest.mark.parametrize("command", FULL)
def test_a_full_disk_is_one_line_that_names_the_file(tmp_path, text, command):
    """No file may have more than a few bytes."""
    text.write_text(TEXT * 40, encoding="utf-8")
    (tmp_path / "out").mkdir()
    arguments = [part.replace("OUT", str(tmp_path / "out")) for part in command.split()]
    if command.startswith(("export", "statistics", "train")):  # Numba keeps what it compiles in files, too.
        tokenlab_here(*(part.replace("OUT", str(tmp_path)) for part in command.split()), text)
    piped = command.endswith("-")
    with no_file_above(20):
        said = tokenlab_here(*arguments, *([] if piped else [text]), stdin=TEXT * 9000 if piped else "", status=2)
    assert FULL[command].replace("OUT", str(tmp_path / "out")) in said and ".tmp" not in said
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output(tmp_path, text, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)

    def ended(out, most, *command):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        with out.open("wb") as stdout:
            done = subprocess.run([*PROGRAM, *command], stdout=stdout, stderr=subprocess.PIPE, preexec_fn=limit)
        assert done.returncode == 2 and done.stderr.count(b"\n") == 1
        return done.stderr.decode()

    said = ended(tmp_path / "out", 20, "score", text, text)
    assert said.startswith(f"tokenlab: standard output ({tmp_path}/out): File too large")
    said = ended(Path("/dev/full"), resource.RLIM_INFINITY, "bits", "encode", text)
    assert said.startswith("tokenlab: standard output: No space left on device")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("cannot cache function 'copy': no locator available for file 'kernels.py'", "NUMBA_CACHE_DIR"),
        ("Symlink loop from 'loop'", "tokenlab: Symlink loop from 'loop'\n"),
    ],
)
def test_errors_of_numba_and_of_links_in_a_circle_are_one_line(capsys, error, words):
    def command():
        raise RuntimeError(error)

    assert ended_well(command, whole_process=False) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
