#!/bin/sh
# A privacy audit as a step of CI: fails when the claim is refuted (1), when the audit is too weak to say anything (5), or when it does
# not work (2, 3, 4). Leaves files that CI systems and people read.
#   sh audit.sh MEMBERS NONMEMBERS CLAIMED-EPSILON [more options of dpaudit scores]
set -u
members=$1 nonmembers=$2 claim=$3
shift 3
dpaudit scores "$members" "$nonmembers" --claim-epsilon "$claim" \
    --junit audit.xml --sarif audit.sarif --json=audit.json --report audit.html "$@"
