#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The report in headless Chromium. Exits 77 (skipped) where there is no browser, no Node.js or no npm.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for program in node npm chromium; do
    command -v "$program" >/dev/null || { echo "SKIPPED: no $program here"; exit 77; }
done
place=$DPA_BUILD/browser
mkdir -p "$place"
if ! cmp -s "$here/package-lock.json" "$place/installed.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$place"
    (cd "$place" && npm ci --silent --no-audit --no-fund)
    cp "$here/package-lock.json" "$place/installed.json"
fi
cp "$here"/*.mjs "$place"
cd "$place"
exec node report.mjs
