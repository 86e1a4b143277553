# SPDX-License-Identifier: GPL-3.0-or-later
# The outputs in README.md are what the command prints.
. "$(dirname "$0")/lib/check.bash"
"$DPA_SOURCE/scripts/readme-examples" --check || fail "README.md is old: run scripts/readme-examples"
finish
