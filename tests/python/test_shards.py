# SPDX-License-Identifier: GPL-3.0-or-later
"""Trials by schedulers of others give the same numbers as `dpaudit run`."""

import concurrent.futures
import shutil
import types

import pytest

import dpaudit.shards

np = pytest.importorskip("numpy")


def joblib_pool():
    return pytest.importorskip("joblib", reason="python3-joblib is not installed").Parallel(n_jobs=2)


class FakeDask:
    """What is used of dask.distributed.Client."""

    def submit(self, call, *arguments, pure):
        return lambda: call(*arguments)

    def gather(self, futures):
        return [future() for future in futures]


def fake_ray():
    """What is used of the module ray."""
    remote = lambda call: types.SimpleNamespace(remote=lambda *arguments: call(*arguments))  # noqa: E731
    return types.SimpleNamespace(remote=remote, get=lambda found: found)


@pytest.fixture
def audit(source, tmp_path):
    for name in ("run-shadow.yaml", "train-shadow.yaml", "train-toy.csv"):
        shutil.copy(source / "examples" / name, tmp_path)
    text = (tmp_path / "run-shadow.yaml").read_text()
    (tmp_path / "a.yaml").write_text(text)
    return tmp_path / "a.yaml"


@pytest.mark.parametrize("make", [joblib_pool, FakeDask, fake_ray, lambda: concurrent.futures.ThreadPoolExecutor(2)])
def test_same_numbers(audit, make):
    played = dpaudit.shards.play(audit, make(), shards=3)
    again = dpaudit.shards.play(audit, make(), shards=2)  # everything is there
    assert again.report.headline == played.report.headline
    reference = audit.parent / "reference"
    dpaudit.shards.subprocess.run(
        [dpaudit.shards.program(), "run", str(audit), "--store", str(reference) + ".db", "--output", str(reference)],
        capture_output=True,
    )
    with np.load(next(reference.glob("*.npz"))) as found:
        for name, values in played.arrays.items():
            assert (found[name] == values).all(), name


def test_what_fails_is_told(tmp_path):
    (tmp_path / "b.yaml").write_text("training: nowhere.yaml\ngame: {kind: black-box}\n")
    with pytest.raises(RuntimeError, match="nowhere.yaml"):
        dpaudit.shards.play(tmp_path / "b.yaml", FakeDask(), shards=1)
    with pytest.raises(TypeError, match="joblib.Parallel"):
        dpaudit.shards.play(tmp_path / "b.yaml", 3)
