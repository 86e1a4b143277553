# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing that a command says changes unseen (tests/golden).
. "$(dirname "$0")/lib/check.bash"
export PYTHONDONTWRITEBYTECODE=1
python3 "$DPA_SOURCE/tests/golden/golden.py" || fail "the output of a command has changed"
finish
