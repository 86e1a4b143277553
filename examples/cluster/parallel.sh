#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU parallel: shards over the cores of this machine, or over others with --sshlogin (the folder must be shared, or returned).
#   sh parallel.sh audit.yaml 32
set -eu
audit=${1:-audit.yaml} shards=${2:-8} trials=${TRIALS:-trials}
# 75 is "more to do": another round plays what is missing.
seq 0 $((shards - 1)) | parallel --retries 3 "${DPAUDIT:-dpaudit}" trial "$audit" --shard "{}/$shards" --out "$trials" --workers 1
"${DPAUDIT:-dpaudit}" import "$audit" "$trials"
