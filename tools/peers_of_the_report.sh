#!/bin/sh
# Puts into $1 what tests hold the report and its formats against and no Python package carries: a browser,
# the accessibility rules of axe, the schema of SARIF. What cannot be had is said, and its tests are skipped.
set -eu
TARGET="${1:-build/npm}"
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 ||
        echo "chromium could not be installed: the report is not tested in a browser." >&2
fi
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
