#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A "trainer" of one line of statistics: how many people there are, with Laplace noise.
# usage: count.sh SEED MEMBERS OUT SCALE
# One person more or less changes the count by 1, so noise of scale b gives epsilon 1/b.
set -eu
awk -v seed="$1" -v scale="$4" '
    END {
        srand(seed)
        for (i = 0; i < 20; i++) rand() # the first numbers of neighbouring seeds are alike
        u = rand() - 0.5
        printf "%.17g\n", NR - scale * (u < 0 ? -1 : 1) * log(1 - 2 * (u < 0 ? -u : u))
    }' "$2" >"$3"
