"""The secret that every Prefect server and client of a workspace shares.

Prefect's API runs what it is told to run, so nobody may speak to it but the user. The secret `USER:PASSWORD` is made at
set-up, or by the first command that needs it, in the file `.env`: git ignores it, and the user alone can read it.
Prefect reads that file and prefect.toml by itself, so plain commands such as `prefect worker start` have them too.
Without the file they refuse to start, for prefect.toml holds no valid secret.
"""

import fcntl
import os
import secrets
import stat
from pathlib import Path

from dotenv import dotenv_values

from tokenlab.core.errors import InputError, ending_in_one_line, one_line

HOST = "127.0.0.1"

SECRET_FILE = ".env"
USER = "tokenlab"

CLIENT_SECRET, SERVER_SECRET = "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"
_COMMENT = "# The password of this folder's Prefect and MLflow pages. Whoever knows it can run commands here."


def environment(root: Path) -> dict[str, str]:
    """The environment of the Prefect server of the workspace `root` and of its clients, in whatever folder. What the
    user set in `.env` counts, as it does for Prefect's own commands there."""
    home = root / ".prefect"
    home.mkdir(mode=0o700, exist_ok=True)
    secret = read_secret(root)
    given = {name: value for name, value in _values(root / SECRET_FILE).items() if name.startswith("PREFECT_")}
    return {"PREFECT_HOME": str(home), CLIENT_SECRET: secret, SERVER_SECRET: secret, "DO_NOT_TRACK": "1", **given}


def adopt(root: Path) -> None:
    """Give this process the environment of the workspace, before Prefect is imported. The user's own settings stay, but
    no password for a server of this machine goes through a proxy."""
    for name, value in environment(root).items():
        os.environ.setdefault(name, value)
    given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    names = ",".join(filter(None, [given, HOST, "localhost"]))
    os.environ |= {"no_proxy": names, "NO_PROXY": names}


def origins(port: int) -> tuple[str, ...]:
    """The origins of the pages that a server at this port serves itself."""
    return tuple(f"http://{host}:{port}" for host in (HOST, "localhost"))


def read_secret(root: Path) -> str:
    """The secret `USER:PASSWORD` of the servers of a workspace; it is made if there is none. Raises InputError where
    `.env` belongs to another user or is not a text file, or holds something else as secret."""
    path = root / SECRET_FILE
    known = _values(path)
    if not {CLIENT_SECRET, SERVER_SECRET} <= known.keys():
        _complete(path)
        known = _values(path)
    if ":" not in known.get(SERVER_SECRET, ""):
        raise InputError(f"{path}: {SERVER_SECRET} has no colon; write it as USER:PASSWORD")
    return known[SERVER_SECRET]


def _values(path: Path) -> dict[str, str]:
    """What is set in a file, which is made unreadable for others."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return {}
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        raise InputError(f"{path}: must be a plain file of your own, for it holds a password; remove it")
    if found.st_mode & 0o077:
        path.chmod(0o600)
    try:
        return {name: value for name, value in dotenv_values(path).items() if value}
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8; correct it, or remove it") from None


def _complete(path: Path) -> None:
    """Add the missing ones of the two secrets to the file, equal to the other one if that is there. One process at a
    time: what the one before it added counts."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "rb+", 0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        known = _values(path)
        secret = known.get(SERVER_SECRET) or known.get(CLIENT_SECRET) or f"{USER}:{secrets.token_urlsafe(32)}"
        missing = [f"{name}={secret}" for name in (CLIENT_SECRET, SERVER_SECRET) if name not in known]
        if not missing:
            return
        old = file.read()
        end = "" if not old or old.endswith(b"\n") else "\n"
        content = (end + "\n".join([_COMMENT, *missing, ""])).encode()
        try:
            if file.write(content) != len(content):
                raise OSError("no space to write the password; free some")
        except OSError as error:
            file.truncate(len(old))
            raise InputError(f"{path}: {one_line(error)}") from None


if __name__ == "__main__":  # as set-up runs it
    with ending_in_one_line("setup"):
        read_secret(Path.cwd().resolve())
