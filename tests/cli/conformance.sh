# SPDX-License-Identifier: GPL-3.0-or-later
# The verdict conformance matrix: game × form of claim × family (tests/conformance).
. "$(dirname "$0")/lib/check.bash"
export PYTHONDONTWRITEBYTECODE=1
python3 "$DPA_SOURCE/tests/conformance/conformance.py" || fail "the matrix"
finish
