# SPDX-License-Identifier: GPL-3.0-or-later
"""Trainers in Python: the program that `serve` makes of one, `dpaudit.run`, and what breaks is told."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import dpaudit

np = pytest.importorskip("numpy")

SCRIPT = """
import sys, numpy as np, dpaudit
print("printed while importing")

@dpaudit.trainer(points=50, canaries=2, heldout=3)
class Both:
    def start(self, members, seed):
        self.members, self.random, self.size = members, np.random.default_rng(seed), 1500
    def batch(self):
        return self.members[self.random.random(len(self.members)) < 0.5]
    def step(self, batch, extra, update):
        print("printed in a step")
        return extra.sum(axis=0) + self.random.normal(size=self.size)
    def gradient(self, example):
        return np.full(self.size, example / 100)
    def train(self, members, seed, queries, init, accuracy):
        if "BREAK" in __import__("os").environ: raise ValueError("no luck")
        return (np.arange(len(queries)) + seed % 7 + init, 0.5) if accuracy else np.arange(len(queries)) + seed % 7 + init

if __name__ == "__main__":
    dpaudit.trainer.serve()
"""


@pytest.fixture
def program():
    return dpaudit._trainer_run.program()


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "both.py").write_text(SCRIPT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    return f"{sys.executable} both.py"


def test_keeps_to_the_protocol(program, script):
    done = subprocess.run([program, "trainer", "check", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "levels train gradient step" in done.stdout and "3 steps of 1500 weights" in done.stdout
    assert "printed in a step" in done.stderr and "printed" not in done.stdout


def test_exceptions_are_told_with_their_place(program, script, monkeypatch):
    monkeypatch.setenv("BREAK", "1")
    done = subprocess.run([program, "trainer", "check", script], capture_output=True, text=True)
    assert done.returncode == 3
    assert "ValueError: no luck (both.py:17)" in done.stdout


def talk(made, *requests):
    """What a trainer of this process answers."""
    import io

    answers = io.StringIO()
    lines = "".join(json.dumps({"id": i, **request}) + "\n" for i, request in enumerate(requests))
    dpaudit._trainer.serve(made, io.StringIO(lines), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_wrong_answers_are_errors(tmp_path):
    hello = {"call": "hello", "protocol": 1, "folder": str(tmp_path)}
    ask = {"call": "train", "members": [0], "queries": [1, 2], "seed": 3, "init": 0}
    for wrong, text in (([1.0], "1 numbers, expected 2"), ([1.0, float("nan")], "number 2 is not finite")):
        made = dpaudit.trainer(lambda members, seed, queries: wrong)
        first, second, third = talk(made, hello, ask, {"call": "fly"})
        assert first["levels"] == ["train"]
        assert text in second["error"]["message"] and second["id"] == 1
        assert "there is no call 'fly'" in third["error"]["message"]
    # long arrays go through files
    made = dpaudit.trainer(lambda members, seed, queries: np.arange(len(queries)))
    _, answer = talk(made, hello, {**ask, "queries": list(range(1001))})
    assert (np.load(tmp_path / answer["signals"]["npy"]) == np.arange(1001)).all()
    with pytest.raises(TypeError, match="a trainer has train"):
        dpaudit.trainer(object())


def test_run_in_this_process(tmp_path):
    played = []

    @dpaudit.trainer(points=20, canaries=1)
    def leaky(members, seed, queries):
        played.append(seed)
        return [float(20 in members) + seed % 100 / 1000 for _ in queries]

    events, told, ends = tmp_path / "events.jsonl", [], []
    game = {"kind": "black-box", "observations": 60}
    first = dpaudit.run(game, leaky, 1.0, store=tmp_path / "a.db", progress=told.append, events=events, on_trial=ends.append)
    assert first.report.refuted and len(played) == 120
    assert sorted(first.arrays) == ["members", "nonmembers"] and first.arrays["members"].shape == (60,)
    assert told[0]["done"] == 0 and told[-1] == {"stage": 0, "stages": 1, "planned": 120, "done": 120, "failed_trials": 0}
    # every trial is told once, with what it gave
    assert sorted(end["trial"] for end in ends) == list(range(120)) and {end["ended"] for end in ends} == {"played"}
    scores = {end["trial"]: end["values"][0] for end in ends}
    assert [scores[i] for i in range(1, 120, 2)] == list(first.arrays["members"])
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["run", "stage"] + 120 * ["trial"] + ["end"] and lines[-1]["state"] == "done"
    assert [line for line in lines if line["event"] == "trial"] == ends
    # the same call again plays nothing, another trainer plays anew
    again = dpaudit.run(game, leaky, 1.0, store=tmp_path / "a.db", progress=False)
    assert len(played) == 120 and (again.arrays["members"] == first.arrays["members"]).all()

    def other(members, seed, queries):
        played.append(seed)
        return [seed % 100 / 1000 for _ in queries]

    quiet = dpaudit.run(game, dpaudit.trainer(other, points=20, canaries=1), 1.0, store=tmp_path / "a.db", progress=False)
    assert len(played) == 240 and quiet.report.state == "not-refuted"
    with pytest.raises(RuntimeError, match="canaries 0"):
        dpaudit.run("black-box", dpaudit.trainer(other, points=20), 1.0, progress=False)


@pytest.mark.parametrize("kind, options", [("membership", 1), ("reconstruction", 4)])
def test_one_run_of_a_final_model_needs_no_steps(kind, options):
    made = dpaudit.trainer(
        lambda members, seed, queries: np.isin(queries, members) + 0.0, points=20, canaries=40 * options
    )
    game = {"kind": kind, "access": "black-box", "canaries": 40}
    report = dpaudit.run(game, made, claim=1.0, progress=False).report
    assert report.refuted and report.results[0].family == "dp"
    promised = dpaudit.Claim(epsilon=1.0)
    assert dpaudit.run(game, made, claim=promised, progress=False).report.headline == report.headline
    with pytest.raises(TypeError, match="a run is about ε of the whole training, not sigma"):
        dpaudit.run(game, made, claim=dpaudit.Claim(sigma=1.0), progress=False)


def test_what_a_callback_raises_stops_the_run(tmp_path):
    @dpaudit.trainer(points=20, canaries=1)
    def train(members, seed, queries):
        if seed % 7 == 0:
            raise ArithmeticError("diverged")
        return [seed % 100 / 1000 for _ in queries]

    class Enough(Exception):
        pass

    ends = []

    def until_ten(end):
        ends.append(end)
        if len(ends) == 10:
            raise Enough

    game, events = {"kind": "black-box", "observations": 2000}, tmp_path / "events"
    with pytest.raises(Enough):
        dpaudit.run(game, train, 1.0, store=tmp_path / "e.db", progress=False, on_trial=until_ten, events=events)
    assert len(ends) == 10
    last = json.loads(events.read_text().splitlines()[-1])
    assert last["event"] == "end" and last["state"] == "stopped"
    # the same call goes on, and the file goes on, too: what failed is told with its reason
    game["observations"] = 50
    dpaudit.run(game, train, 1.0, store=tmp_path / "e.db", progress=False, events=events)
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    told = [line for line in lines if line["event"] == "trial"]
    numbers = sorted(line["trial"] for line in told)
    assert numbers == list(range(len(told))) and len(told) >= 100, "a trial was told twice or not at all"
    failed = [line for line in told if line["ended"] == "failed"]
    assert failed and all("diverged" in line["reason"] and "values" not in line for line in failed)


def test_interrupted_and_resumed(tmp_path):
    played = []

    @dpaudit.trainer(points=20, canaries=1)
    def slow(members, seed, queries):
        played.append(seed)
        if len(played) == 30 and not (tmp_path / "once").exists():
            (tmp_path / "once").touch()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return [seed % 100 / 1000 for _ in queries]

    game = {"kind": "black-box", "observations": 60}
    with pytest.raises(dpaudit.Stopped, match="goes on from there"):
        dpaudit.run(game, slow, 1.0, store=tmp_path / "b.db", progress=False)
    before = len(played)
    assert 30 <= before < 120
    done = dpaudit.run(game, slow, 1.0, store=tmp_path / "b.db", progress=False)
    assert len(done.arrays["members"]) == 60 and 120 <= len(played) <= 124, "finished trials were played again"


@pytest.mark.parametrize("noise, refuted", [("1", False), ("0.2", True)])
def test_white_box_torch(source, tmp_path, noise, refuted, monkeypatch):
    pytest.importorskip("torch", reason="python3-torch is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("NOISE", noise)
    command = f"{sys.executable} {source}/examples/python/trainer_torch.py"
    claimed = {"points": 200, "clip": 1, "sigma": 0.8, "q": 0.1, "steps": 20}
    game = {"kind": "white-box", "observations": 400}
    done = dpaudit.run(game, command, store=tmp_path / "c.db", workers=2, progress=False, **claimed)
    assert done.report.refuted is refuted


@pytest.mark.parametrize("noise, state", [("1", "not refuted"), ("0.4", "refuted")])
def test_federated_clients_of_ones_own(source, noise, state):
    environment = {**os.environ, "NOISE": noise, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    script = source / "examples" / "python" / "federated_trainer.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stdout.lower().startswith(state), done.stdout + done.stderr


class Moving:
    """Linear regression in numpy; its canary moves and is pushed outwards when it is to be crafted."""

    def __init__(self):
        self.x, self.kinds = np.random.default_rng(1).normal(size=(101, 30)), set()

    def start(self, members, seed, init):
        self.theta, self.members, self.random = np.zeros(30), members, np.random.default_rng(seed)
        return 30

    def batch(self):
        return self.members[self.random.random(len(self.members)) < 0.1]

    def canary(self, kind, seed, index):
        self.kinds.add(kind)
        x = np.random.default_rng((seed, index)).normal(size=30)
        self.x[100] = 100 * x if kind == "crafted" else x / 100

    def gradient(self, example):
        return (self.x[example] @ self.theta - 1) * self.x[example]

    def step(self, batch, extra, update):
        total = 0.5 * self.random.normal(size=30)
        for g in map(self.gradient, batch):
            total = total + g * min(1.0, 1.0 / np.linalg.norm(g))
        if update:
            self.theta = self.theta - total / 100
        return total


@pytest.mark.parametrize("kind, filter", [("crafted", "dot"), ("crafted", "matched"), ("mislabelled", "dot")])
def test_canaries_that_the_trainer_makes(kind, filter):
    made = Moving()
    game = {"kind": "input-canary", "canary": kind, "filter": filter, "moving": True, "observations": 300}
    made_of = dpaudit.trainer(made, points=100, canaries=1)
    done = dpaudit.run(game, made_of, clip=1, sigma=0.5, q=0.1, steps=100, progress=False)
    seen = np.mean(done.arrays["members"]) - np.mean(done.arrays["nonmembers"])
    assert made.kinds == {kind} and (seen > 0.5 if kind == "crafted" else abs(seen) < 0.2)


def test_a_step_that_always_updates_cannot_look():
    class Rounds(Moving):
        def step(self, batch, extra):
            return super().step(batch, extra, True)

    made = dpaudit.trainer(Rounds, points=100, canaries=1)
    with pytest.raises(RuntimeError, match="declared no level"):
        dpaudit.run({"kind": "white-box", "canary": "random"}, made, clip=1, sigma=0.5, q=0.1, steps=5, progress=False)


@pytest.mark.parametrize(
    "wrong, error, text",
    [
        ({"game": 5}, TypeError, "game: expected a kind"),
        ({"game": "black_box"}, RuntimeError, "^found black_box; expected white-box"),
        ({"game": {"kind": "black-box", "observation": 5}}, RuntimeError, "^found the key observation"),
        ({"game": {"kind": "black-box", "observations": [object()]}}, TypeError, "not object"),
        ({"trainer": 5}, TypeError, "a trainer has train"),
        ({"claim": "1.0"}, TypeError, "claim: expected ε as a number"),
        ({"claim": float("nan")}, RuntimeError, "^claim: epsilon nan"),
        ({"sigmas": 1}, RuntimeError, "^found the key sigmas"),
        ({"store": "nowhere/a.db"}, FileNotFoundError, "there is no folder"),
    ],
)
def test_wrong_settings_are_told_in_the_callers_words(tmp_path, monkeypatch, wrong, error, text):
    monkeypatch.chdir(tmp_path)
    trainer = dpaudit.trainer(lambda members, seed, queries: [0.0 for _ in queries], points=5, canaries=1)
    settings = {"game": "black-box", "trainer": trainer, "claim": 1.0, "progress": False, **wrong}
    with pytest.raises(error, match=text):
        dpaudit.run(**settings)


def test_numbers_of_numpy_are_numbers():
    trainer = dpaudit.trainer(lambda members, seed, queries: [float(len(members))], points=5, canaries=1)
    game = {"kind": "black-box", "observations": np.int64(12)}
    assert dpaudit.run(game, trainer, np.float64(0.5), progress=False).report.refuted
