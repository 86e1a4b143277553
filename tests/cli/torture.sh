# SPDX-License-Identifier: GPL-3.0-or-later
# The short form of scripts/torture: failing calls, signals, hostile trainers and results, locales. Limits are in limits.sh, stores in
# store_damage.sh. A sanitizer has a malloc of its own, which the shim would hide.
. "$(dirname "$0")/lib/check.bash"
nm -D "$DPAUDIT" 2>/dev/null | grep -q '__[at]san_init' && { echo "SKIPPED: under a sanitizer"; exit 77; }
TMPDIR=$work python3 "$DPA_SOURCE/scripts/torture" --short || fail "torture"
finish
