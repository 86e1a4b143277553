# SPDX-License-Identifier: GPL-3.0-or-later
"""What a warm trial costs: 500 trainings of 10 ms through `dpaudit run` with one worker, against the same trainings in a loop.
Prints both times and their ratio, with the start of the programs and without it (median time of a stored trial)."""

import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("DPAUDIT", str(SOURCE / "build" / "release" / "bin" / "dpaudit"))
TRAINER = """
import time, dpaudit

@dpaudit.trainer(points=1000, canaries=1)
def train(members, seed, queries):
    end = time.perf_counter() + 0.01
    while time.perf_counter() < end:
        pass
    return [float(len(members)) + seed % 1000 / 1e3 for _ in queries]

if __name__ == "__main__":
    dpaudit.trainer.serve()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        Path("spin.py").write_text(TRAINER)
        Path("spin.yaml").write_text(
            f"trainer: {{command: '{sys.executable} spin.py', points: 1000, canaries: 1}}\n"
            "game: {kind: black-box, observations: 250}\nclaim: {epsilon: 1, delta: 1e-5}\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
        sys.path[:0] = [str(SOURCE / "python"), place]
        import spin

        start = time.perf_counter()
        for seed in range(500):
            spin.train(range(1000), seed, [1000])
        alone = time.perf_counter() - start
        start = time.perf_counter()
        subprocess.run([PROGRAM, "run", "spin.yaml", "--workers", "1"], env=environment, capture_output=True)
        played = time.perf_counter() - start
        rows = sqlite3.connect("spin.trials.db").execute("select seconds from trial").fetchall()
        assert len(rows) == 500, rows[:3]
        each = statistics.median(seconds for (seconds,) in rows)
        print(f"trainings in a loop {alone:.2f} s, played {played:.2f} s: {played / alone:.3f} times, start included")
        print(f"a training {alone / 500 * 1e3:.2f} ms, a trial {each * 1e3:.2f} ms: {each / (alone / 500):.3f} times")


main()
