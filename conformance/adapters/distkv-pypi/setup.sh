#!/bin/sh
# Makes the environment in which the original DistKV runs: .venv beside this file, with what a server of 2019 wants.
#
#   conformance/adapters/distkv-pypi/setup.sh                 does nothing if the environment is there and as it should be
#   PYTHON=/path/to/python3.11 …/setup.sh                     with this Python
#
# It takes about a minute, most of it downloads. Nothing of it touches the suite's own environment.
set -eu
cd "$(dirname "$0")"

# Old source distributions: they are built with the tools of their time, and without looking at each other.
BUILDING="setuptools==59.8.0 setuptools_scm==6.4.2 packaging==26.3 tomli==2.5.0 wheel==0.48.0 pytest-runner==6.0.1"
REQUIRED="trio==0.11.0 anyio==1.0.0 msgpack==0.6.2 attrs==19.1.0 range_set==0.3.3 outcome==1.0.0 async_generator==1.10
    jsonschema==3.0.1 PyYAML==6.0.3 PyNaCl==1.6.2 cffi==2.1.1 diffiehellman==0.13.3 psutil==7.2.2 click==7.1.2
    async_exit_stack==1.0.1 sortedcontainers==2.4.0 sniffio==1.3.1 idna==3.20 pyrsistent==0.20.0 six==1.17.0 pycparser==3.12"
JUDGED="asyncserf==0.8.0 trio_click==7.0.3 distkv==0.5.2" # what they ask for contradicts itself: --no-deps

say() { echo "distkv-pypi: $*" >&2; }

python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3.11 python3; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
    say "the original runs on Python 3.11, with its modules venv and ensurepip, and there is none here. To install it:"
    say "  Debian 12:  sudo apt install python3.11 python3.11-venv"
    say "  or say where it is:  PYTHON=/path/to/python3.11 $0"
    exit 2
}

installed() {
    say "installs $*"
    if ! .venv/bin/python -m pip --disable-pip-version-check --quiet install "$@" >.venv/pip.log 2>&1; then
        cat .venv/pip.log >&2
        say "that could not be installed; the reason stands above. Start this again when it is gone; it begins anew"
        exit 1
    fi
}

if command -v flock >/dev/null 2>&1; then # two of these at a time would make one mess
    exec 9>.setup.lock
    flock 9
fi
wanted=$(cksum <setup.sh)
if [ "$(cat .venv/made 2>/dev/null)" = "$wanted" ]; then
    say "the environment is there"
    exit 0
fi
found=$(python)
say "makes .venv with $("$found" --version)"
rm -rf .venv
"$found" -m venv .venv
# shellcheck disable=SC2086  # several words each
{
    installed $BUILDING
    installed --no-build-isolation $REQUIRED
    installed --no-build-isolation --no-deps $JUDGED
}
.venv/bin/python -c 'import distkv.server, distkv.client' || {
    say "it was installed, but cannot be imported"
    exit 1
}
echo "$wanted" >.venv/made
say "done"
