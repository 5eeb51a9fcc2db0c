#!/bin/sh
# Make .venv as requirements.lock says. `make` calls this when the stamp .venv/installed is older than the lock.
#
#   PYTHON=/path/to/python ./setup.sh
#
# A set-up that was interrupted, or never finished, has no stamp: it starts from nothing. One that is only out of date
# is brought up to date in place.
set -eu
cd "$(dirname "$0")"
# Packages of another Python, and places where the user has pip install to, are none of .venv.
unset PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONSAFEPATH PYTHONINSPECT PYTHONOPTIMIZE PYTHONWARNINGS PYTHONPLATLIBDIR
unset PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT
export PYTHONNOUSERSITE=1
stamp=.venv/installed

fail() {
    echo "setup: $*" >&2
    exit 2
}

# The supported versions are those of requires-python in pyproject.toml: ">=3.LOW,<3.HIGH".
range=$(sed -n 's/^requires-python = ">=3\.\([0-9]*\),<3\.\([0-9]*\)".*/\1 \2/p' pyproject.toml)
supported=
minor=${range% *}
while [ "$minor" -lt "${range#* }" ]; do
    supported="$supported${supported:+ }3.$minor"
    minor=$((minor + 1))
done

# Print the version of a Python as 3.11, or nothing where it does not run (as a shim for a version that is not there).
version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

# Set `version` to that of $1; end the set-up unless it is a supported one.
require() {
    version=$(version_of "$1")
    case " $supported " in
    *" ${version:-none} "*) ;;
    *) fail "$1 is ${version:+Python }${version:-no Python that runs}; supported: $supported; choose one with PYTHON=/path/to/python" ;;
    esac
}

find_python() {
    python=${PYTHON:-}
    if [ -n "$python" ]; then
        require "$python"
        return
    fi
    for version in $supported; do
        python=python$version
        [ "$(version_of "$python")" != "$version" ] || return 0
    done
    python=python3
    require "$python"
}

# The entry of a package in the lock: its version, and its hashes on the lines that follow.
locked() {
    awk -v name="$1==" 'index($0, name) == 1 { found = 1 } found { print; if (!/\\$/) exit }' requirements.lock
}

is_current() {
    [ "$stamp" -nt requirements.lock ] && [ "$stamp" -nt pyproject.toml ]
}

in_venv=.venv/bin/python
pip="$in_venv -m pip install --disable-pip-version-check"
if [ "${1:-}" != --locked ]; then
    if [ -e "$stamp" ]; then python=$in_venv; else find_python; fi
    # One set-up at a time: it, and any installer that outlives it, holds a lock on this folder.
    exec "$python" -c '
import fcntl, os, sys
folder = os.open(".", os.O_RDONLY)
try:
    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("setup: another set-up is at work here; waiting until it ends", flush=True)
    fcntl.flock(folder, fcntl.LOCK_EX)
os.set_inheritable(folder, True)
os.execv("./setup.sh", ["./setup.sh", "--locked", sys.argv[1]])
' "$python"
fi
if is_current; then
    exit 0 # by the set-up that this one waited for
fi
if [ ! -e "$stamp" ]; then
    echo "setup: $("$2" --version) for .venv, packages as in requirements.lock"
    "$2" -m venv --clear .venv
fi
rm -f "$stamp"
# torch first and without its dependencies: alone, the installers plan some fifteen CUDA packages for a CPU build. Its
# builds for CPU and CUDA are other files of one version, so the lock has no hash of it; all other packages are checked.
if $pip --no-deps "$(locked torch)" && locked uv | $pip --no-deps --require-hashes -r /dev/stdin; then
    .venv/bin/uv pip install --python $in_venv --verify-hashes -r requirements.lock
    .venv/bin/uv pip install --python $in_venv --no-deps -e .
else # a platform that uv has no build for
    grep -v "^torch==" requirements.lock | $pip --no-deps --require-hashes -r /dev/stdin
    $pip "$(locked torch)" # with what its build depends on
    $pip --no-deps -e .
fi
# The password of the pages, before anything can be served without one.
$in_venv -m flows.prefect_environment
# The page of `dvc plots show`, which needs no network.
$in_venv -m flows.pages.plots
touch "$stamp"
