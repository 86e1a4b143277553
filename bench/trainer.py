# SPDX-License-Identifier: GPL-3.0-or-later
"""What a trial costs with a trainer that stays: 500 trainings of 10 ms of processor time through `dpaudit run`, with one worker,
against the trainings alone. Processor time of everything (dpaudit, its worker, the trainer), which other programs on the machine change
little, and by the clock; the trials alone (the run, less a second one that finds them all played), the whole run with start, store and
verdict, and with the start of the trainer. --torch: the trainer imports torch."""

import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("DPAUDIT", str(SOURCE / "build" / "release" / "bin" / "dpaudit"))
TRAININGS, SECONDS = 500, 0.01
TRAINER = """
import os, time
IMPORT
import dpaudit
began, notes = time.process_time(), os.open("notes", os.O_WRONLY | os.O_CREAT)

@dpaudit.trainer(points=1000, canaries=1)
def train(members, seed, queries):
    end = time.process_time() + SECONDS
    while time.process_time() < end:
        pass
    with open(f"/proc/{os.getppid()}/schedstat") as worker:  # nanoseconds of the processor first
        os.pwrite(notes, b"%20.9f %s" % (time.process_time(), worker.read().split()[0].encode()), 0)
    return [float(len(members)) + seed % 1000 / 1e3 for _ in queries]

if __name__ == "__main__":
    os.pwrite(notes, b"%20.9f" % began, 100)
    dpaudit.trainer.serve()
"""


def call() -> tuple[float, float]:
    """Seconds of the processor, of the command itself, and by the clock."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([PROGRAM, "run", "spin.yaml", "--workers", "1"], env=environment, capture_output=True, check=False)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def play(place: Path) -> tuple[float, float, float, float, float, str]:
    """Seconds of the processor for the trials, with start and verdict, and with the start of the trainer; by the clock, of a trial
    by the clock, and who used them."""
    lead, clock = call()
    verdict, _ = call()
    notes = (place / "notes").read_bytes()
    trainer, worker = (float(word) for word in notes[:100].strip(b"\0").split())
    rows = sqlite3.connect("spin.trials.db").execute("select seconds from trial").fetchall()
    assert len(rows) == TRAININGS, rows[:3]
    used, began = lead + worker / 1e9 + trainer, float(notes[100:])
    parts = f"run {lead:.2f} s, of which start and verdict {verdict:.2f} s, its worker {worker / 1e9:.2f} s, the trainer {trainer - began:.2f} s and its imports {began:.2f} s"
    return used - began - verdict, used - began, used, clock, statistics.median(seconds for (seconds,) in rows), parts


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        text = TRAINER.replace("IMPORT", "import torch" if "--torch" in sys.argv else "").replace("SECONDS", str(SECONDS))
        Path("spin.py").write_text(text)
        Path("spin.yaml").write_text(
            f"trainer: {{command: '{sys.executable} spin.py', points: 1000, canaries: 1}}\n"
            f"game: {{kind: black-box, observations: {TRAININGS // 2}}}\nclaim: {{epsilon: 1, delta: 1e-5}}\n"
        )
        sys.path[:0] = [str(SOURCE / "python"), folder]
        import spin

        start, used = time.perf_counter(), time.process_time()
        for seed in range(TRAININGS):
            spin.train(range(1000), seed, [1000])
        alone, used = time.perf_counter() - start, time.process_time() - used
        os.remove("notes")
        spin.notes = None
        trials, warm, whole, clock, trial, parts = play(Path(folder))
        print(f"processor: trainings alone {used:.2f} s; the trials {trials:.2f} s, {trials / used:.3f} times;", end=" ")
        print(f"the whole run {warm:.2f} s, {warm / used:.3f} times;", end=" ")
        print(f"with the imports of the trainer {whole:.2f} s, {whole / used:.3f} times")
        print(f"processor, by program: {parts}")
        print(f"clock: trainings alone {alone:.2f} s; the whole run {clock:.2f} s, {clock / alone:.3f} times;", end=" ")
        print(f"a trial {trial * 1e3:.2f} ms, {trial * TRAININGS / alone:.3f} times a training")


if __name__ == "__main__":
    main()
