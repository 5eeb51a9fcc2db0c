"""The printed completion, in a real shell."""

import shutil
import subprocess

import pytest

from tokenlab.cli import main
from tokenlab.cli.commands import SHELLS

COMPLETE = """
source {script}
cd {folder}
COMP_WORDS=({words}) COMP_CWORD={last}
"$(complete -p tokenlab | sed 's/.*-F \\([^ ]*\\).*/\\1/')" tokenlab '' ''
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def printed(capsys, shell):
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", shell])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.fixture
def complete(tmp_path, capsys):
    """A function: the words of a command line so far -> bash's proposals for the last one."""
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    script, folder = tmp_path / "completion.bash", tmp_path / "here"
    script.write_text(printed(capsys, "bash"))
    folder.mkdir()
    (folder / "novel.txt").touch()

    def proposals(*words):
        text = COMPLETE.format(
            script=script, folder=folder, words=" ".join(f"'{word}'" for word in words), last=len(words) - 1
        )
        done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return set(done.stdout.split())

    return proposals


def test_commands_flags_choices_and_files(complete):
    assert complete("tokenlab", "se") == {"segment"}
    assert {"learn", "encode", "decode", "show", "check"} <= complete("tokenlab", "codes", "")
    assert "--method" in complete("tokenlab", "segment", "--m")
    assert complete("tokenlab", "segment", "--method", "w") == {"words"}
    assert complete("tokenlab", "segment", "no") == {"novel.txt"}
    assert complete("tokenlab", "segment", "--statistics-from", "no") == {"novel.txt"}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_can_read_it(tmp_path, capsys, shell):
    script = tmp_path / "completion"
    script.write_text(text := printed(capsys, shell))
    assert "segment" in text and "--lambda" in text
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", script]).returncode == 0


def test_an_unknown_shell_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", "cmd"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
