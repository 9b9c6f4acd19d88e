#!/bin/sh
# Builds the virtual environment $VENV with $PYTHON and installs the project into it, editable.
#
#   sh tools/setup.sh core   # the product and the test runner
#   sh tools/setup.sh all    # every extra, the linters, the site generator and the packages that the report is tested with
#
# Where the venv module is missing it installs Debian's package
# (as root) or prints the one line that does.
set -eu
PYTHON="${PYTHON:-python3}"
VENV="${VENV:-.venv}"

if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "dpproof needs Python 3.11 or newer; $PYTHON is $("$PYTHON" --version 2>&1)." >&2
    exit 2
fi
if ! "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv
    else
        echo "Python's venv module is missing. Install it with:  sudo apt-get install python3-venv" >&2
        exit 2
    fi
fi
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
"$VENV/bin/python" -m pip install --quiet --upgrade "pip>=25.1"
if [ "${1:-all}" = core ]; then
    "$VENV/bin/python" -m pip install --quiet --editable . --group test
    exit
fi
"$VENV/bin/python" -m pip install --quiet --editable ".[cluster,interop,jax,release,rl,service,torch]" --group dev --group peers
sh "$(dirname "$0")/peers_of_the_report.sh" build/npm
