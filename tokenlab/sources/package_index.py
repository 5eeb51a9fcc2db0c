"""Archives of a package index, fetched by `pip download`, which knows the user's index, proxy and certificates.

pip compares the sha256 before it opens an archive. Wheels are only read; of a source archive pip runs the build script,
to learn the package's name. Nothing is installed.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenlab.core.errors import SourceError
from tokenlab.sources.catalogue import Alternative
from tokenlab.sources.transfer import Digest, HttpOptions, Unreachable, digest_file


def download_archive(
    alternative: Alternative, folder: Path, *, http: HttpOptions, limit: int, progress: bool | None
) -> tuple[Path, Digest]:
    """Fetch the alternative's `archive` into a part file in `folder`.

    Args:
        alternative: with `package`, `version`, `archive` and `sha256`.
        http: its read timeout and retries (at least one) hold for each request of pip.
        limit: bytes; a larger archive is refused.
        progress: False shows nothing, else one line on standard error.

    Returns: the part and its digest. The caller moves or removes it.

    Raises:
        Unreachable: there is no pip, the index does not answer, or it does not have the archive.
        SourceError: the archive on the index has another sha256 or more than `limit` bytes.
    """
    package, archive = alternative.package or "", alternative.archive or ""
    where = f"package {package} {alternative.version}"
    if progress is not False:
        print(f"{archive}: fetching {where} with pip", file=sys.stderr)
    with TemporaryDirectory(prefix=".", suffix=".tmp", dir=folder) as name:
        temporary = Path(name).resolve()
        wanted = temporary / "requirements.txt"
        wanted.write_text(f"{package}=={alternative.version} --hash=sha256:{alternative.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        command += ["--timeout", f"{http.read_timeout:.0f}", "--retries", str(max(http.retries, 1)), "download"]
        command += ["--no-deps", "--ignore-requires-python", "--require-hashes", "--progress-bar", "off"]
        command += ["--only-binary" if archive.endswith(".whl") else "--no-binary", package]
        command += ["--dest", name, "--requirement", str(wanted)]
        done = subprocess.run(command, cwd=temporary, capture_output=True, text=True, errors="replace", check=False)
        fetched = temporary / archive
        if done.returncode or not fetched.is_file():
            raise _failure(where, alternative, done.stdout + done.stderr)
        if fetched.stat().st_size > limit:
            raise SourceError(f"{where}: more than {limit} bytes; raise the limit if that is right")
        part = fetched.replace(folder / f"{archive}.part")
    return part, digest_file(part)


def _failure(where: str, alternative: Alternative, output: str) -> Exception:
    """The error for what pip printed."""
    if "No module named pip" in output:
        return Unreachable("this Python has no pip; run `python -m ensurepip`")
    if found := re.search(r"Got\s+([0-9a-f]{64})", output):
        return SourceError(
            f"{where}: wrong bytes: expected sha256 {alternative.sha256}, found sha256 {found[1]}; "
            "correct the catalogue or your package index"
        )
    if "WARNING: Retrying (" in output or "Could not fetch URL" in output:  # pip says so from the first retry on
        return Unreachable("the package index does not answer")
    if "No matching distribution found" in output or "ERROR: " not in output:
        return Unreachable(f"the package index does not have {alternative.archive}")
    return Unreachable(f"pip failed: {output.partition('ERROR: ')[2].partition(chr(10))[0]}")
