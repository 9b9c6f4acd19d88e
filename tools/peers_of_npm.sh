#!/bin/sh
# Puts into $1 what two tests check against and no Python package carries: the schema of SARIF, and the
# accessibility rules of axe. Without npm it says so, and those tests are skipped.
set -eu
TARGET="${1:-build/npm}"
if ! command -v npm >/dev/null; then
    echo "npm is missing: the report's accessibility and SARIF's schema are not tested." >&2
    exit 0
fi
for PACKAGE in "@microsoft/jest-sarif@1.0.0-beta.0" "axe-core@4.11.0"; do
    NAME="${PACKAGE%@*}"
    [ -d "$TARGET/$NAME" ] && continue
    mkdir -p "$TARGET/$NAME"
    ARCHIVE="$(cd "$TARGET" && npm pack --silent "$PACKAGE")"
    tar -xzf "$TARGET/$ARCHIVE" -C "$TARGET/$NAME" --strip-components=1
    rm "$TARGET/$ARCHIVE"
done
