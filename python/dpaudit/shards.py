# SPDX-License-Identifier: GPL-3.0-or-later
"""The trials of an experiment file by whatever schedules work: joblib, Dask, Ray, an executor. Every job is `dpaudit trial` on one
shard, and its files come back by `dpaudit import` (docs/cluster.md); the folder must be seen by all machines."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Union

from ._trainer_run import Run, _gather, program

_MORE_TO_DO = 75


def play_shard(audit: str, folder: str, shard: int, shards: int) -> str:
    """One job: plays a shard where it runs, and gives what the command said."""
    words = [program(), "trial", audit, "--shard", f"{shard}/{shards}", "--out", folder, "--workers", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _submit(pool: Any, jobs: list[tuple[Any, ...]]) -> list[str]:
    """All jobs to their end, by what the pool can do."""
    if hasattr(pool, "remote") and hasattr(pool, "get"):  # the module ray
        remote = pool.remote(play_shard)
        return list(pool.get([remote.remote(*job) for job in jobs]))
    if hasattr(pool, "submit") and hasattr(pool, "gather"):  # dask.distributed.Client
        return list(pool.gather([pool.submit(play_shard, *job, pure=False) for job in jobs]))
    if hasattr(pool, "submit"):  # concurrent.futures
        return [future.result() for future in [pool.submit(play_shard, *job) for job in jobs]]
    if callable(pool):  # joblib.Parallel
        return list(pool((play_shard, job, {}) for job in jobs))
    raise TypeError("pool: expected joblib.Parallel, a Dask client, the module ray, or an executor")


def play(audit: Union[str, "os.PathLike[str]"], pool: Any, *, shards: int = 8, folder: Any = None) -> Run:
    """Play the game of an experiment file by `pool` and judge it.

    pool: a `joblib.Parallel`, a `dask.distributed.Client`, the module `ray`, or an executor of `concurrent.futures`. shards: jobs
    of each round; a round plays what is missing of a stage. folder: for the files of trials (default: AUDIT.trials beside the
    file). What is there already, in the folder or in the store, is not played again.
    """
    path = Path(audit).resolve()
    place = Path(folder).resolve() if folder is not None else path.with_suffix(".trials")
    before = None
    while True:
        said = _submit(pool, [(str(path), str(place), i, shards) for i in range(shards)])
        done = subprocess.run([program(), "import", str(path), str(place)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        if done.returncode != _MORE_TO_DO or done.stdout == before:
            raise RuntimeError((done.stderr or done.stdout).strip() + "\n" + said[0].strip())
        before = done.stdout
    with tempfile.TemporaryDirectory(prefix="dpaudit-") as output:
        words = [program(), "run", str(path), "--output", output]
        judged = subprocess.run(words, capture_output=True, text=True, check=False)
        if judged.returncode not in (0, 1, 5):
            raise RuntimeError(judged.stderr.strip())
        return _gather(Path(output), path, path.with_suffix(".trials.db"))
