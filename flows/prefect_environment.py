"""The settings of every Prefect server and client that starts in a workspace, and the secret that they share.

Prefect's API runs what it is told to run, so nobody may speak to it but the user. The secret `USER:PASSWORD` is made at
set-up, or by the first command that needs it, in the file `.env`: git ignores it, and the user alone can read it.
Prefect reads that file by itself, so plain commands such as `prefect worker start` have it too. Without the file they
refuse to start, for prefect.toml holds no valid secret.

`environment` gives the same settings as prefect.toml and `.env` together, for processes that start in other folders.
"""

import os
import secrets
import stat
import sys
import tempfile
from pathlib import Path

from dotenv import dotenv_values

from tokenlab.core.errors import EXIT_STATUS, InputError, TokenlabError, one_line

HOST = "127.0.0.1"
USUAL_PORT = 4200

SECRET_FILE = ".env"
USER = "tokenlab"

_CLIENT, _SERVER = "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"
_COMMENT = "# The password of this folder's Prefect and MLflow pages. Whoever knows it can run commands here."


def environment(root: Path, port: int = USUAL_PORT) -> dict[str, str]:
    """The environment of a Prefect server, or of its clients, in the workspace `root`. port: that of the server."""
    home = root / ".prefect"
    home.mkdir(mode=0o700, exist_ok=True)
    secret = read_secret(root)
    return {
        "PREFECT_HOME": str(home),
        _CLIENT: secret,
        _SERVER: secret,
        "PREFECT_SERVER_API_HOST": HOST,
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(origins(port)),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        # Several processes write to one SQLite file: who finds it locked waits, and who is turned away asks again.
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
        "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
        "PREFECT_CLIENT_MAX_RETRIES": "10",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "DO_NOT_TRACK": "1",
    }


def adopt(root: Path) -> None:
    """Give this process the environment of the workspace, before Prefect is imported. The user's own settings stay."""
    for name, value in environment(root).items():
        os.environ.setdefault(name, value)


def origins(port: int) -> tuple[str, ...]:
    """The origins of the pages that a server at this port serves itself."""
    return tuple(f"http://{host}:{port}" for host in (HOST, "localhost"))


def read_secret(root: Path) -> str:
    """The secret `USER:PASSWORD` of a workspace; it is made if there is none.

    Raises InputError where `.env` belongs to another user or is not a file.
    """
    path = root / SECRET_FILE
    if (known := _read(path)) is None:
        _write(path)
        known = _read(path)
    if known is None:
        raise InputError(f"{path}: {_CLIENT} is not in it; remove the file, and it is made anew")
    return known


def _read(path: Path) -> str | None:
    """The secret in a file, which is made unreadable for others. None where there is none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        raise InputError(f"{path}: must be a plain file of your own, for it holds a password; remove it")
    if found.st_mode & 0o077:
        path.chmod(0o600)
    values = dotenv_values(path, interpolate=False)
    return values.get(_SERVER) and values.get(_CLIENT)


def _write(path: Path) -> None:
    """Add a new secret to the file. Of two processes that do it at once, the first one's secret counts."""
    secret = f"{USER}:{secrets.token_urlsafe(32)}"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    content = [*old.splitlines(), _COMMENT, f"{_CLIENT}={secret}", f"{_SERVER}={secret}", ""]
    handle, name = tempfile.mkstemp(prefix=f"{SECRET_FILE}.", suffix=".tmp", dir=path.parent)  # mode 0600
    os.close(handle)
    temporary = Path(name)
    try:
        temporary.write_text("\n".join(content), encoding="utf-8")
        if old:
            temporary.replace(path)
        else:
            path.hardlink_to(temporary)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)


def main() -> int:
    """Make the secret of the present folder, as set-up does."""
    try:
        read_secret(Path.cwd().resolve())
    except (TokenlabError, OSError) as error:
        print(f"setup: {one_line(error)}", file=sys.stderr)
        return EXIT_STATUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
