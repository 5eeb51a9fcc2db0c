#!/bin/sh
# Make .venv as requirements.lock says. `make` calls this when the stamp .venv/installed is older than the lock.
#
#   PYTHON=/path/to/python ./setup.sh
#
# A set-up that was interrupted, or never finished, has no stamp: it starts from nothing. One that is only out of date
# is brought up to date in place.
set -eu
cd "$(dirname "$0")"
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

is_supported() {
    case " $supported " in *" $1 "*) [ -n "$1" ] ;; *) false ;; esac
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        version=$(version_of "$PYTHON")
        is_supported "$version" || fail "$PYTHON is Python ${version:-none at all}; supported: $supported; choose one with PYTHON=/path/to/python"
        python=$PYTHON
        return
    fi
    for version in $supported; do
        python=python$version
        [ "$(version_of "$python")" != "$version" ] || return 0
    done
    python=python3
    version=$(version_of "$python")
    is_supported "$version" || fail "python3 is Python ${version:-none at all}; supported: $supported; choose one with PYTHON=/path/to/python"
}

pinned() {
    grep "^$1==" requirements.lock
}

if [ ! -e "$stamp" ]; then
    find_python
    echo "setup: .venv with Python $version, from requirements.lock (about a minute)"
    "$python" -m venv --clear .venv
fi
rm -f "$stamp"
in_venv=.venv/bin/python
# torch first and without its dependencies: alone, the installers plan some fifteen CUDA packages for a CPU build.
if $in_venv -m pip install --quiet --disable-pip-version-check --no-deps "$(pinned torch)" "$(pinned uv)"; then
    .venv/bin/uv pip install --quiet --python $in_venv -r requirements.lock
    .venv/bin/uv pip install --quiet --python $in_venv --no-deps -e .
else # a platform that uv has no build for
    $in_venv -m pip install --quiet --disable-pip-version-check -r requirements.lock
    $in_venv -m pip install --quiet --disable-pip-version-check --no-deps -e .
fi
touch "$stamp"
