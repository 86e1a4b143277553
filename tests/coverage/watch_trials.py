#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often does the watch cry wolf, and how often does it name a planted bug?

    tests/coverage/watch_trials.py [mlp|cnn] [CORRECT] [SEEDS] [BUG…]

trains examples/python/watch_torch.py CORRECT times as it should be and SEEDS times with every planted bug (or those
named), and prints one row each: trainings, trainings with a defect or refuted, trainings in which the planted one was
named first. Not part of the tests: 200 and 20 take about half an hour of one core. docs/watch.md has the table.
"""

import sys
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "examples" / "python"), str(SOURCE / "python")]

import torch  # noqa: E402
import watch_torch  # noqa: E402


def main(kind="mlp", correct=200, seeds=20, *bugs):
    torch.set_num_threads(1)
    print("| planted | trainings | alarms | named first | refuted | other defects named |")
    print("|---|---|---|---|---|---|")
    for bug, words in watch_torch.BUGS.items():
        if bugs and bug not in bugs:
            continue
        trials = int(correct) if bug == "none" else int(seeds)
        alarms = named = refuted = 0
        others = Counter()
        for seed in range(1, trials + 1):
            result = watch_torch.train(bug, kind, seed)[0].result()
            defects = result.defects
            alarms += not result.ok
            refuted += result.refuted
            first = bool(bug != "none" and defects and words in defects[0].words)
            named += first
            others.update(check.name for check in defects[first:])
        print(f"| {bug} | {trials} | {alarms} | {named if words else ''} | {refuted} | {dict(others) or ''} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
