# SPDX-License-Identifier: GPL-3.0-or-later
# A federated training that is killed goes on from its last state when it is started again: the same evidence, byte for byte.
. "$(dirname "$0")/lib/check.bash"
cp "$DPA_SOURCE"/examples/run-federated.yaml "$DPA_SOURCE"/examples/federated-client.yaml "$DPA_SOURCE"/examples/train-toy.csv .
sed '/baseline/d; s/rounds: 40/rounds: 200\n  keep-every: 3/' run-federated.yaml >long.yaml

run 0 run long.yaml --store whole.db --output whole
[ ! -e whole.db.rounds ] || fail "a training that has ended leaves its state"

# killed as soon as there is a state; a training that was quicker than the kill is started once more
killed() {
    for try in 1 2 3 4 5 6 7 8; do
        rm -rf "$1.db" "$1".db.*
        "$DPAUDIT" run long.yaml --store "$1.db" --output "$1" >killed.out 2>&1 &
        local pid=$!
        until ls "$1".db.rounds/*-0 >/dev/null 2>&1 || ! kill -0 $pid 2>/dev/null; do :; done
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        # its worker dies with it, but not in the same moment
        until ! grep -qas "DPAUDIT_KEEP=$PWD/$1.db.rounds" /proc/[0-9]*/environ; do :; done
        ls "$1".db.rounds/*-0 >/dev/null 2>&1 && return
    done
    fail "no state after $try trainings"
}

killed part
run 0 run long.yaml --store part.db --output part
cmp -s whole/cosines.npz part/cosines.npz || fail "another result after the kill"
[ ! -e part.db.rounds ] || fail "the state is still there"

# the state is what it goes on from: with one weight changed (and the checksum right) the result is another
killed changed
/usr/bin/python3 - changed.db.rounds/*-0 <<'PY' || fail "cannot change the state"
import struct
import sys
import zlib
data = bytearray(open(sys.argv[1], "rb").read()[:-4])
at = 8 + 72 + 6 * 8 + 8 + 400
data[at : at + 4] = struct.pack("<f", 0.5)
open(sys.argv[1], "wb").write(data + struct.pack("<I", zlib.crc32(data)))
PY
run 0 run long.yaml --store changed.db --output changed
cmp -s whole/cosines.npz changed/cosines.npz && fail "the state was not used"

# one that is damaged is not used; nor is that of another experiment
killed damaged
for file in damaged.db.rounds/*-0; do printf 'x' | dd of="$file" bs=1 seek=500 conv=notrunc 2>/dev/null; done
run 0 run long.yaml --store damaged.db --output damaged
cmp -s whole/cosines.npz damaged/cosines.npz || fail "a damaged state was used"
killed other
run 0 run long.yaml --store other.db --output other --seed 2
run 0 run long.yaml --store fresh.db --output fresh --seed 2
cmp -s other/cosines.npz fresh/cosines.npz || fail "the state of another seed was used"
finish
