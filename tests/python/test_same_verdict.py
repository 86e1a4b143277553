# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict everywhere: for every game of examples/, `run`, `status --bound`, the command on the file that `run` wrote,
Python's judge and the page of each say the same; the verdict objects are identical to the last byte.

The games are played with few observations: which verdict it is does not matter here, only that there is one.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dpaudit

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMANDS = {"scores.npz": "scores", "guesses.npz": "one-run", "cosines.npz": "cosines"}
MARKS = {"refuted": "✗ Claim refuted", "not-refuted": "○ Claim not refuted", "inconclusive": "? Inconclusive"}
CODES = {"refuted": 1, "not-refuted": 0, "inconclusive": 5}
# Options that make a game small.
SMALL = {
    "run-black-box.yaml": ["--observations", "60"],
    "run-shuffled.yaml": ["--observations", "40"],
    "run-white-box.yaml": ["--observations", "200"],
    "run-white-box-broken.yaml": ["--observations", "200"],
    "run-input-canary.yaml": ["--observations", "200"],
}
# Lines of a file that make its game small, where no option does.
SMALLER = {
    "run-federated-mnist.yaml": [("rounds: 100", "rounds: 2"), ("canaries: 1000", "canaries: 40"), ("checkpoints: 5", "checkpoints: 1")],
    "run-shadow.yaml": [("targets: 200", "targets: 40")],
    "command/count.yaml": [("models: 400", "models: 60")],
    "command/count-broken.yaml": [("models: 400", "models: 60")],
    "run-federated.yaml": [("rounds: 40", "rounds: 8")],
    "run-federated-broken.yaml": [("rounds: 40", "rounds: 8")],
}
NOT_JUDGED = {"command/torch.yaml": "names no attack: test_of_signals attacks"}


def games():
    for path in sorted(EXAMPLES.glob("*.yaml")) + sorted(EXAMPLES.glob("command/*.yaml")):
        if re.search(r"^game:", path.read_text(), re.M):
            yield str(path.relative_to(EXAMPLES))


def call(folder, *words):
    done = subprocess.run([os.environ["DPAUDIT"], *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1, 5), done.stderr
    return done


def verdict(path):
    return json.dumps(json.loads(path.read_text())["verdict"])


def on_page(path, told):
    """The page has this verdict's mark and no other, and its sentence."""
    page = path.read_text()
    marks = [m for m in (*MARKS.values(), "● Lower bound", "◇ Estimate") if f'<p class="mark">{m}</p>' in page]
    state = told["state"]
    assert marks == [MARKS[state]] if state in MARKS else len(marks) == 1
    headline = told["headline"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert f'<p class="headline">{headline}</p>' in page


@pytest.fixture()
def folder(tmp_path):
    for path in [*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("*.csv"), *EXAMPLES.glob("*.npy")]:
        shutil.copy(path, tmp_path)
    shutil.copytree(EXAMPLES / "command", tmp_path / "command")
    return tmp_path


def accounted(folder, claim, delta):
    """What the accountant says of a claim of noise."""
    words = ["--sigma", claim["sigma"], "--q", claim["q"], "--steps", claim["steps"], "--delta", delta]
    words += ["--adjacency", claim["neighbours"]]
    return json.loads(call(folder, "account", *words, "--json").stdout)["epsilon"]


@pytest.mark.parametrize("game", [g for g in games() if g not in NOT_JUDGED])
def test_of_a_game(folder, game):
    text = (folder / game).read_text()
    for old, new in SMALLER.get(game, []):
        assert old in text
        text = text.replace(old, new)
    shared = Path(os.environ.get("DPA_SHARED", EXAMPLES.parents[1] / "shared"))
    if "../../shared" in text and not (shared / "data/mnist").exists():
        pytest.skip("the data set is not here")
    for name in (game, "federated-mnist-client.yaml"):
        source = text if name == game else (folder / name).read_text()
        (folder / name).write_text(source.replace("../../shared", str(shared)))
    if "logistic" in game:
        compiled = subprocess.run(["cc", "-O2", "-o", "logistic", "logistic.c", "-lm"], cwd=folder / "command")
        if compiled.returncode != 0:
            pytest.skip("no C compiler")
    small = SMALL.get(game, [])
    ran = call(folder, "run", game, "--store", "t.db", "--output", "out", "--json=run.json", "--report", "run.html", *small)
    want = verdict(folder / "run.json")
    told = json.loads(want)
    assert ran.returncode == CODES.get(told["state"], 0)
    assert " ".join(ran.stdout.split()).startswith(told["headline"])
    on_page(folder / "run.html", told)
    if "sigma" in told["claim"]:
        promised = accounted(folder, told["claim"], told["claim"]["delta"])["upper"]
        assert told["claim"]["epsilon"] == pytest.approx(promised, abs=1e-6)

    status = call(folder, "status", game, "--store", "t.db", "--bound", "--json", *small)
    assert json.dumps(json.loads(status.stdout)["verdict"]) == want
    assert status.returncode == ran.returncode

    (file,) = (folder / "out").glob("*.npz")
    words = [COMMANDS[file.name], file, "--json=file.json", "--report", "file.html"]
    judged = call(folder, *words)
    assert verdict(folder / "file.json") == want
    assert judged.returncode == ran.returncode
    on_page(folder / "file.html", told)

    report = dpaudit.judge(dpaudit.Evidence.read(file))
    assert json.dumps(json.loads(report.to_json())["verdict"]) == want
    on_page(report.report(folder / "python.html"), told)

    call(folder, "report", "run.json", "--out", "again.html")
    on_page(folder / "again.html", told)


@pytest.mark.parametrize(
    "words, judge",
    [
        (["scores", "scores.csv", "--claim-epsilon", "1"],
         lambda: dpaudit.judge(dpaudit.Evidence.scores("scores.csv"), dpaudit.Claim(1.0))),
        (["scores", "members.npy", "nonmembers.npy", "--claim-sigma", "1"],
         lambda: dpaudit.judge(dpaudit.Evidence.scores("members.npy", "nonmembers.npy"), dpaudit.Claim(sigma=1.0))),
        (["scores", "members.npy", "nonmembers.npy", "--claim-sigma", "1"],
         lambda: dpaudit.judge(dpaudit.Evidence.scores(np.load("members.npy"), np.load("nonmembers.npy")), dpaudit.Claim(sigma=1.0))),
        (["one-run", "one-run.csv", "--claim-epsilon", "1"],
         lambda: dpaudit.one_run(scores="one-run.csv", claim_epsilon=1.0)),
        (["counts", "--fn", "10", "--tp", "90", "--fp", "5", "--tn", "95", "--claim-epsilon", "1"],
         lambda: dpaudit.judge(dpaudit.Evidence.counts(10, 90, 5, 95), dpaudit.Claim(1.0))),
        (["losses", "losses.csv", "--claim-epsilon", "1"], lambda: dpaudit.losses("losses.csv", claim_epsilon=1.0)),
    ],
)  # fmt: skip
def test_of_a_file(folder, words, judge, monkeypatch):
    monkeypatch.chdir(folder)
    same(folder, words, judge)


def same(folder, words, judge):
    """The command with these words, its pages and Python's judge() say the same."""
    done = call(folder, *words, "--json=out.json", "--report", "out.html")
    told = json.loads(verdict(folder / "out.json"))
    assert done.returncode == CODES[told["state"]]
    on_page(folder / "out.html", told)
    report = judge()
    assert json.dumps(json.loads(report.to_json())["verdict"]) == json.dumps(told)
    on_page(report.report(folder / "python.html"), told)
    call(folder, "report", "out.json", "--out", "again.html")
    on_page(folder / "again.html", told)


@pytest.mark.parametrize("model", ["open", "private"])
def test_of_the_demo(folder, model):
    """scripts/demo trains on canaries, then judges their losses as one run; here with fewer of them and a small network."""
    text = (EXAMPLES / "demo" / f"{model}.yaml").read_text()
    if not Path(re.search(r"path: (\S+)", text).group(1)).exists():
        pytest.skip("the data set is not here")
    (folder / "demo.yaml").write_text(re.sub(r"epochs: \d+", "epochs: 2", text).replace("mlp:512", "mlp:8").replace("batch: 200", "batch: 50"))
    draw = np.random.default_rng(1)
    np.savetxt(folder / "labels.txt", draw.integers(10, size=60000), "%d")
    coins = draw.random(400) < 0.5
    np.savetxt(folder / "in.txt", np.flatnonzero(coins), "%d")
    np.savetxt(folder / "out.txt", np.flatnonzero(~coins), "%d")
    call(folder, "train", "demo.yaml", "--output", "demo", "--quiet")
    files = [folder / "demo" / f"{side}-losses.npy" for side in ("train", "heldout")]
    scores = -np.concatenate([np.load(f) for f in files])
    same(folder, ["one-run", *files, "--losses", "--claim-epsilon", "1"],
         lambda: dpaudit.one_run(scores=scores, members=np.repeat([1, 0], [np.sum(coins), np.sum(~coins)]), claim_epsilon=1.0))  # fmt: skip


def test_of_signals(folder):
    """command/torch.yaml gives signals; an attack makes scores of one model of them, and those are judged."""
    python = "/usr/bin/python3"
    if not Path(python).exists() or subprocess.run([python, "-c", "import torch"], capture_output=True).returncode != 0:
        pytest.skip("no torch")
    text = (folder / "command/torch.yaml").read_text()
    (folder / "command/torch.yaml").write_text(text.replace("python3", python).replace("models: 8", "models: 3"))
    call(folder, "run", "command/torch.yaml", "--store", "t.db", "--output", "out")
    (file,) = (folder / "out").glob("*.npz")
    call(folder, "attack", "loss", "--signals", file, "--out", "attacked.csv")
    same(folder, ["one-run", "attacked.csv", "--claim-epsilon", "1"],
         lambda: dpaudit.one_run(scores=folder / "attacked.csv", claim_epsilon=1.0))  # fmt: skip


def test_microbatches_halve_the_claimed_noise(folder):
    """One record can turn the sum of its microbatch round: the claim is that of half the noise."""
    text = (folder / "run-short.yaml").read_text()
    (folder / "micro.yaml").write_text(text.replace("sigma: 0.5", "sigma: 3\n  microbatch: 4"))
    (folder / "audit.yaml").write_text("{training: micro.yaml, game: {kind: black-box, canary: blank, observations: 20}}\n")
    call(folder, "run", "audit.yaml", "--json=run.json")
    claim = json.loads(verdict(folder / "run.json"))["claim"]
    assert (claim["sigma"], claim["q"], claim["steps"]) == (1.5, 0.1, 10)
    assert claim["epsilon"] == pytest.approx(accounted(folder, claim, claim["delta"])["upper"], abs=1e-6)
