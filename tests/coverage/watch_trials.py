#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often does the watch cry wolf, and how often does it name a planted bug?

    tests/coverage/watch_trials.py mlp|cnn FILE [--correct 200] [--seeds 20] [--first 1] [--only BUG …]

trains examples/python/watch_torch.py CORRECT times as it should be and SEEDS times with every planted bug (or those
named), with the seeds from FIRST on, and appends one line of JSON a training to FILE; trainings that FILE has already
are not repeated, so it can be cut and go on. Prints one row for each bug: trainings, alarms (a defect, or refuted), and
how often the planted bug is the first defect named. Not part of the tests: 200 and 20 take about 20 minutes of one
core. docs/watch.md has the table.
"""

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of numpy's products only wait for each other here
SOURCE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "examples" / "python"), str(SOURCE / "python")]

import torch  # noqa: E402
import watch_torch  # noqa: E402


def trial(bug, kind, seed):
    result = watch_torch.train(bug, kind, seed)[0].result()
    defects = [{"check": check.name, "words": check.words, "p": check.adjusted} for check in result.defects]
    return {"kind": kind, "bug": bug, "seed": seed, "refuted": result.refuted, "defects": defects}


def row(bug, done):
    words = watch_torch.BUGS[bug]
    named = [bool(words and t["defects"] and words in t["defects"][0]["words"]) for t in done]
    alarms = sum(t["refuted"] or bool(t["defects"]) for t in done)
    others = Counter(defect["check"] for t, first in zip(done, named) for defect in t["defects"][first:])
    said = ", ".join(f"{name} {count}" for name, count in others.items())
    return f"| {bug} | {len(done)} | {alarms} | {sum(named) if words else ''} | {sum(t['refuted'] for t in done)} | {said} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("mlp", "cnn"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--correct", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=list(watch_torch.BUGS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    lines = args.file.read_text(encoding="utf-8").splitlines() if args.file.exists() else []
    kept = {(t["kind"], t["bug"], t["seed"]): t for t in map(json.loads, lines)}
    print("| planted | trainings | alarms | named first | refuted | other defects named |\n|---|---|---|---|---|---|")
    with args.file.open("a", encoding="utf-8") as out:
        for bug in args.only or watch_torch.BUGS:
            done = []
            for seed in range(args.first, args.first + (args.correct if bug == "none" else args.seeds)):
                found = kept.get((args.kind, bug, seed)) or trial(bug, args.kind, seed)
                if (args.kind, bug, seed) not in kept:
                    print(json.dumps(found, ensure_ascii=False), file=out, flush=True)
                done.append(found)
            print(row(bug, done), flush=True)


if __name__ == "__main__":
    main()
