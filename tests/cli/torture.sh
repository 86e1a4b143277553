# SPDX-License-Identifier: GPL-3.0-or-later
# The short form of scripts/torture: failing calls, signals, hostile trainers and results, locales. Limits are in limits.sh, stores in
# store_damage.sh. Not under a sanitizer, whose malloc the shim would hide (tests/CMakeLists.txt).
. "$(dirname "$0")/lib/check.bash"
TMPDIR=$work python3 "$DPA_SOURCE/scripts/torture" --short || fail "torture"
finish
