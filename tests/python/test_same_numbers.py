# SPDX-License-Identifier: GPL-3.0-or-later
"""Python and the command say the same, to the last bit: whole JSON documents are compared, not rounded numbers."""

import json
import os
import subprocess

import numpy as np
import pytest

import dpaudit

RNG = np.random.default_rng(7)
IN, OUT = RNG.normal(1, 1, 300), RNG.normal(0, 1, 250)


@pytest.mark.parametrize(
    "words, options",
    [
        ((), {}),
        (("--two-sided", "--delta", "0.05"), {"sides": 2, "delta": 0.05}),
        (("--family", "gaussian", "--method", "cp"), {"family": "gaussian", "method": "cp"}),
        (("--family", "subsampled-gaussian:q=0.1,steps=5"), {"family": "subsampled-gaussian:q=0.1,steps=5"}),
        (("--delta", "0", "--method", "katz", "--confidence", "0.9"), {"delta": 0, "method": "katz", "confidence": 0.9}),
        (("--claim-epsilon", "0.3", "--claim-delta", "1e-6"), {"claim_epsilon": 0.3, "claim_delta": 1e-6}),
        (("--at-epsilon", "0.2", "--curve", "--explain"), {"at_epsilon": 0.2, "curve": True, "explain": True}),
    ],
)
def test_counts(command, plain, words, options):
    told = command("counts", "--fn", 35, "--tp", 65, "--fp", 25, "--tn", 75, *words)
    assert plain(dpaudit.counts(35, 65, 25, 75, **options)) == told


@pytest.mark.parametrize("fn, tp, fp, tn", [(0, 1000, 0, 1000), (0, 1, 0, 1), (10**9, 10**9, 1, 10**9), (5, 0, 0, 7)])
def test_counts_at_extremes(command, plain, fn, tp, fp, tn):
    for delta in ("0", "1e-300", "1e-5", "0.5"):
        told = command("counts", "--fn", fn, "--tp", tp, "--fp", fp, "--tn", tn, "--delta", delta, "--family", "dp")
        assert plain(dpaudit.counts(fn, tp, fp, tn, float(delta), family="dp")) == told


@pytest.mark.parametrize(
    "words, options",
    [
        ((), {}),
        (("--family", "gaussian", "--method", "rank", "--seed", "5"), {"family": "gaussian", "method": "rank", "seed": 5}),
        (("--select", "fixed:0.5", "--method", "cp"), {"select": "fixed:0.5", "method": "cp"}),
        (("--select", "split", "--method", "bayes", "--family", "dp"), {"select": "split", "method": "bayes", "family": "dp"}),
        (("--method", "sequential", "--claim-epsilon", "1"), {"method": "sequential", "claim_epsilon": 1}),
        (("--claim-epsilon", "1", "--explain"), {"claim_epsilon": 1, "explain": True}),
    ],
)
def test_scores(command, plain, tmp_path, words, options):
    np.save(tmp_path / "in.npy", IN)
    np.save(tmp_path / "out.npy", OUT)
    told = command("scores", tmp_path / "in.npy", tmp_path / "out.npy", *words)
    assert plain(dpaudit.scores(IN, OUT, **options)) == told
    assert plain(dpaudit.scores(tmp_path / "in.npy", str(tmp_path / "out.npy"), **options)) == told


def test_scores_of_every_type(plain):
    """What is the same numbers gives the same answer, whatever holds it."""
    want = plain(dpaudit.scores(IN, OUT, method="cp", family="dp"))
    for kind in (list, tuple, np.ndarray.tolist, lambda x: np.repeat(x, 2)[::2], lambda x: x.astype(">f8")):
        assert plain(dpaudit.scores(kind(IN), kind(OUT), method="cp", family="dp")) == want
    single = dpaudit.scores(IN.astype("f4"), OUT.astype("f4"), method="cp", family="dp")
    assert plain(single) == plain(dpaudit.scores(IN.astype("f4").astype("f8"), OUT.astype("f4").astype("f8"), method="cp", family="dp"))


def test_groups(command, plain, tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"{x},{i % 2},{'ab'[i % 3 > 0]}" for i, x in enumerate(RNG.normal(0, 1, 200))]
    path.write_text("score,member,site\n" + "\n".join(rows) + "\n")
    told = command("scores", path, "--group", "site", "--method", "cp", "--family", "dp")
    assert plain(dpaudit.scores(path, group="site", method="cp", family="dp")) == told


@pytest.mark.parametrize(
    "words, options",
    [
        ((1000, 100, 98), {}),
        ((100000, 1500, 1429, "--family", "gaussian"), {"family": "gaussian"}),
        ((500, 500, 480, "--options", 50, "--confidence", "0.99"), {"options": 50, "confidence": 0.99}),
        ((1000, 100, 98, "--claim-sigma", 2, "--pointwise"), {"claim_sigma": 2, "pointwise": True}),
        ((1000, 0, 0), {}),
    ],
)
def test_one_run_from_counts(command, plain, words, options):
    canaries, guesses, correct, *rest = words
    told = command("one-run", "--canaries", canaries, "--guesses", guesses, "--correct", correct, *rest)
    assert plain(dpaudit.one_run(canaries, guesses, correct, **options)) == told


def test_one_run_from_scores(command, plain, tmp_path):
    score, member = RNG.normal(0, 1, 400), RNG.integers(0, 2, 400)
    score[member == 1] += 2
    path = tmp_path / "run.csv"
    path.write_text("score,member\n" + "\n".join(f"{s!r},{m}" for s, m in zip(score.tolist(), member)) + "\n")
    for guesses in ("auto", "max", 100):
        for side in ("both", "in", "out"):
            told = command("one-run", path, "--guesses", guesses, "--side", side)
            assert plain(dpaudit.one_run(scores=score, members=member, guesses=guesses, side=side)) == told
            assert plain(dpaudit.one_run(scores=path, guesses=guesses, side=side)) == told
    assert plain(dpaudit.one_run(scores=score, members=member == 1)) == command("one-run", path)


def test_one_run_from_confidences(command, plain, tmp_path):
    sure, right = RNG.random(300), RNG.integers(0, 2, 300)
    path = tmp_path / "run.csv"
    path.write_text("score,correct\n" + "\n".join(f"{s!r},{r}" for s, r in zip(sure.tolist(), right)) + "\n")
    told = command("one-run", path, "--options", 10)
    assert plain(dpaudit.one_run(scores=sure, correct=right, options=10)) == told
    assert plain(dpaudit.one_run(scores=path, options=10)) == told


def test_ideal_game(command, plain):
    told = command("one-run", "--ideal", "--sigma", 1, "--canaries", 1000, "--simulate", 3, "--pointwise")
    assert plain(dpaudit.one_run_ideal(1, 1000, simulate=3, pointwise=True)) == told


@pytest.mark.parametrize(
    "words, options",
    [
        (("--sigma", 1, "--q", "0.01", "--steps", 1000), {"sigma": 1, "q": 0.01, "steps": 1000}),
        (("--sigma", "0.5", "--delta", "1e-300"), {"sigma": 0.5, "delta": 1e-300}),
        (("--sigma", 2, "--adjacency", "replace-one", "--points", 20), {"sigma": 2, "adjacency": "replace-one", "points": 20}),
        (("--sigma", 1, "--mechanism", "laplace", "--steps", 3), {"sigma": 1, "mechanism": "laplace", "steps": 3}),
        (("--sigma", 1, "--epsilon", 1, "--fpr", "0.01"), {"sigma": 1, "epsilon": 1, "fpr": 0.01}),
    ],
)
def test_account(command, plain, words, options):
    assert plain(dpaudit.account(**options)) == command("account", *words)


def test_two_gaussians(command, plain):
    told = command("account", "--two-gaussians", "0,1,1.5,1.2", "--delta", "1e-6")
    assert plain(dpaudit.two_gaussians(0, 1, 1.5, 1.2, 1e-6)) == told


@pytest.mark.parametrize("find, rest", [("sigma", {"q": 0.01, "steps": 100}), ("steps", {"sigma": 1.0, "q": 0.01})])
def test_calibrate(command, plain, find, rest):
    words = [word for key, value in rest.items() for word in (f"--{key}", value)]
    told = command("calibrate", "--epsilon", 2, "--find", find, *words)
    assert plain(dpaudit.calibrate(2, find=find, **rest)) == told


def test_cosines(command, plain, tmp_path):
    observed, null = RNG.normal(0.02, 0.01, 50), RNG.normal(0.0, 0.01, 60)
    np.save(tmp_path / "g.npy", observed)
    np.save(tmp_path / "null.npy", null)
    told = command("cosines", tmp_path / "g.npy", "--dim", 10000)
    assert plain(dpaudit.cosines(observed, 10000)) == told
    told = command("cosines", tmp_path / "g.npy", "--null", tmp_path / "null.npy", "--claim-epsilon", 1)
    assert plain(dpaudit.cosines(observed, null=null, claim_epsilon=1)) == told


def test_canaries(command, tmp_path):
    """A canary made by the command is the one made here, and so are its cosines."""
    program = os.environ.get("DPAUDIT", "build/release/bin/dpaudit")
    out, cosines = tmp_path / "c.npy", tmp_path / "g.npy"
    subprocess.run([program, "canaries", "make", "--dim", "512", "--seed", "9", "--out", out], check=True)
    canaries = dpaudit.CanarySet(512, 20, seed=9)
    made = np.load(out).ravel()
    assert (canaries.vector(0, dtype=str(made.dtype)) == made).all()
    model = RNG.normal(0, 1, 512).astype("f4")
    np.save(tmp_path / "m.npy", model)
    subprocess.run(
        [program, "canaries", "cosines", "--model", tmp_path / "m.npy", "--count", "20", "--seed", "9", "--out", cosines],
        check=True,
    )
    assert (canaries.cosines(model) == np.load(cosines).ravel()).all()


def test_losses(command, plain, tmp_path):
    train, heldout = RNG.gamma(2, 0.2, 300), RNG.gamma(3, 0.3, 200)
    np.save(tmp_path / "train.npy", train)
    np.save(tmp_path / "heldout.npy", heldout)
    files = ("--train", tmp_path / "train.npy", "--heldout", tmp_path / "heldout.npy")
    told = command("losses", *files, "--method", "normal", "--bootstrap", 50)
    assert plain(dpaudit.losses(train, heldout, method="normal", bootstrap=50)) == told
    assert plain(dpaudit.losses(files[1], files[3], method="normal", bootstrap=50)) == told
    told = command("losses", *files, *files, "--method", "empirical", "--bootstrap", 0, "--whole-training-set")
    report = dpaudit.losses(
        models=[(train, heldout)] * 2, method="empirical", bootstrap=0, whole_training_set=True
    )
    assert plain(report) == told


def test_losses_from_predictions(command, plain, tmp_path):
    words, arrays = [], {}
    for side, size in (("train", 120), ("heldout", 90)):
        p = RNG.dirichlet([1, 1, 1], size)
        y = RNG.integers(0, 3, size)
        np.save(tmp_path / f"{side}.npy", p)
        np.save(tmp_path / f"{side}-labels.npy", y)
        words += [f"--{side}", tmp_path / f"{side}.npy", f"--{side}-labels", tmp_path / f"{side}-labels.npy"]
        arrays.update({side: p, f"{side}_labels": y})
    told = command("losses", *words, "--method", "empirical", "--bootstrap", 0)
    assert plain(dpaudit.losses(**arrays, method="empirical", bootstrap=0)) == told


@pytest.mark.parametrize("name", ["loss", "calibrated", "lira", "rmia"])
@pytest.mark.parametrize("kind", ["logit", "loss"])
def test_attacks(tmp_path, name, kind):
    member = RNG.integers(0, 2, (40, 30)).astype(bool)
    signal, population = RNG.normal(member * 1.0, 1) + 2, RNG.normal(0, 1, (40, 25)) + 2
    for file, values in (("signals", signal), ("members", member), ("population", population)):
        np.save(tmp_path / f"{file}.npy", values)
    words = ["--kind", kind, "--target", "3", "--exclude", "5"]
    extra = {}
    if name == "rmia":
        words += ["--population", tmp_path / "population.npy"]
        extra = {"population": population}
    program = os.environ.get("DPAUDIT", "build/release/bin/dpaudit")
    files = ["--signals", tmp_path / "signals.npy", "--members", tmp_path / "members.npy"]
    done = subprocess.run([program, "attack", name, *files, *words], capture_output=True, text=True, check=True)
    told = [float(line.split(",")[0]) for line in done.stdout.splitlines()[1:]]
    got = getattr(dpaudit.attack, name)(signal, member, target=3, exclude=[5], kind=kind, **extra)
    assert got.tolist() == told


@pytest.mark.parametrize("form", ["normal", "pinball"])
def test_quantile_attack(tmp_path, form):
    arrays = {
        "signals": RNG.normal(0, 1, (2, 30)),
        "members": RNG.integers(0, 2, (2, 30)).astype(bool),
        "population": RNG.normal(0, 1, (2, 50)),
        "features": RNG.normal(0, 1, (30, 3)),
        "population_features": RNG.normal(0, 1, (50, 3)),
    }
    words = ["--target", "1", "--form", form, "--level", "0.75", "--ridge", "0.125", "--squares"]
    for name, values in arrays.items():
        np.save(tmp_path / f"{name}.npy", values)
        words += [f"--{name.replace('_', '-')}", tmp_path / f"{name}.npy"]
    program = os.environ.get("DPAUDIT", "build/release/bin/dpaudit")
    done = subprocess.run([program, "attack", "quantile", *words], capture_output=True, text=True, check=True)
    told = [float(line.split(",")[0]) for line in done.stdout.splitlines()[1:]]
    got = dpaudit.attack.quantile(**arrays, target=1, form=form, level=0.75, ridge=0.125, squares=True)
    assert got.tolist() == told


@pytest.mark.parametrize("challenge", ["worst", "random", "average"])
def test_selections(tmp_path, challenge):
    member = RNG.integers(0, 2, (40, 30)).astype(bool)
    signal = RNG.normal(member * 1.0, 1, (3, 40, 30)).transpose(1, 2, 0)  # three views of each point
    np.save(tmp_path / "signals.npy", np.ascontiguousarray(signal))
    np.save(tmp_path / "members.npy", member)
    program = os.environ.get("DPAUDIT", "build/release/bin/dpaudit")
    words = ["--signals", tmp_path / "signals.npy", "--members", tmp_path / "members.npy"]
    words += ["--challenge", challenge, "--count", "5", "--seed", "3", "--exclude", "7", "--weight", "epsilon", "--json"]
    done = subprocess.run([program, "attack", "select", *words], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    got = dpaudit.attack.select(signal, member, 5, challenge=challenge, seed=3, exclude=[7], weight="epsilon")
    assert {"fit": got.fit, "test": got.test, "kept": got.kept} == told["models"] and got.kept == [7]
    assert got.challenge == told["challenge"] == challenge
    assert [[p.point, p.accuracy, p.epsilon, p.gap] for p in got.points] == [
        [p["point"], p["accuracy"], p["epsilon"], p["gap"]] for p in told["points"]
    ]


def test_landscape(command, plain, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("strategy,utility,epsilon,group\nplain,0.9,8,a\nnoisy,0.8,1,b\nworse,0.7,4,b\nplain,0.92,9,a\n")
    assert plain(dpaudit.landscape(path)) == command("landscape", path)


@pytest.mark.parametrize(
    "words, options",
    [
        (("--leak", "4", "--audits", "20"), {"leak": 4, "audits": 20}),
        (("--size", "200", "--method", "cp", "--power", "0.9"), {"size": 200, "method": "cp", "power": 0.9}),
        (
            ("--leak", "3", "--size", "50", "--most", "500", "--audits", "10"),
            {"leak": 3, "size": 50, "most": 500, "audits": 10},
        ),
        (
            ("--leak-sigma", "0.5", "--game", "cosines", "--points", "5", "--seed", "3"),
            {"leak_sigma": 0.5, "game": "cosines", "points": 5, "seed": 3},
        ),
        (
            ("--half-width", "0.2", "--fnr", "0.3", "--fpr", "0.3", "--leak", "4", "--method", "cp"),
            {"half_width": 0.2, "fnr": 0.3, "fpr": 0.3, "leak": 4, "method": "cp"},
        ),
    ],
)
def test_plan(command, plain, words, options):
    assert plain(dpaudit.plan(1, **options)) == command("plan", "--claim-epsilon", "1", *words)


def test_plan_needs_a_question():
    with pytest.raises(ValueError, match="needs leak"):
        dpaudit.plan(1)
