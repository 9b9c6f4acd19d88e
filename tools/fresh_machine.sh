#!/bin/sh
# Runs the README's two commands on a minimal Debian: a new root with python3, make, git and ca-certificates only.
#
#   sh tools/fresh_machine.sh [FOLDER]    # FOLDER: where to build the root; by default a temporary folder
#
# It needs root and debootstrap (which it installs where apt-get is there). The root gets the last commit of this
# repository, the name server, the settings of pip and apt, and the local folders that pip's settings name.
# ARGS is handed to `make test`.
set -eu
cd "$(dirname "$0")/.."
HERE="$PWD"

if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || { echo "fresh_machine.sh must run as root: it builds and enters a new root." >&2; exit 2; }
    command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap >/dev/null; }
    ROOT="${1:-$(mktemp -d)}"
    # Mounts are made in a namespace of their own, so that none is left behind.
    STATUS=0
    unshare --mount --pid --fork sh "$HERE/tools/fresh_machine.sh" --inside "$ROOT" || STATUS=$?
    [ -n "${1:-}" ] || rm -rf --one-file-system "$ROOT"
    exit "$STATUS"
fi

ROOT="$2"
SUITE="$(. /etc/os-release && echo "$VERSION_CODENAME")"
debootstrap --variant=minbase --include=python3,make,git,ca-certificates "$SUITE" "$ROOT" >"$ROOT.log" 2>&1 ||
    { tail -n 20 "$ROOT.log" >&2; exit 2; }
rm "$ROOT.log"

mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
cp /etc/resolv.conf "$ROOT/etc/resolv.conf"
cp /etc/apt/apt.conf.d/* "$ROOT/etc/apt/apt.conf.d/"

# pip's settings, and every file or folder of this machine that they name. The pages of a local index link to files
# beside it, so the folder above it is taken.
${PYTHON:-python3} -m pip config list | sed "s/^[^=]*='\(.*\)'$/\1/" | tr ' ' '\n' | sed 's,^file://\(.*\)/[^/]*/*$,\1,' |
    grep '^/' | sort -u | while read -r NAMED; do
    if [ -d "$NAMED" ]; then
        mkdir -p "$ROOT$NAMED"
        mount --rbind -o ro "$NAMED" "$ROOT$NAMED"
    elif [ -f "$NAMED" ]; then
        mkdir -p "$ROOT$(dirname "$NAMED")"
        cp -L "$NAMED" "$ROOT$NAMED"
    fi
done
${PYTHON:-python3} -m pip config list | sed -n "s/^global\.\([a-z-]*\)='\(.*\)'$/\1 = \2/p" |
    { echo "[global]"; cat; } >"$ROOT/etc/pip.conf"

git clone --quiet --no-hardlinks "$HERE" "$ROOT/dpproof"
run() {
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 $(env | grep '^PIP_') \
        chroot "$ROOT" make --no-print-directory -C /dpproof "$@"
}
run check
run test ARGS="${ARGS:-}"
