# SPDX-License-Identifier: GPL-3.0-or-later
"""`InputCanary`: against the covariance written out, against the game of the command, by a coin, crafted with torch."""

import math
import os
import subprocess

import numpy as np
import pytest

import dpaudit

SIGMA, CLIP, Q = 0.5, 1.0, 0.2


def clipped(g):
    return g * np.minimum(1.0, CLIP / np.linalg.norm(g, axis=1, keepdims=True))


def test_by_elimination():
    """w = M⁻¹g′ with M as it is defined; K examples stand for more records."""
    rng = np.random.default_rng(1)
    data, g, released = rng.normal(0, 0.4, (30, 12)), rng.normal(0, 1, 12), rng.normal(0, 1, 12)
    canary = dpaudit.InputCanary(SIGMA, CLIP, Q, records=90)
    canary.look(data)
    strength = canary.aim(g)
    rows, own = clipped(data), clipped(g[None])[0]
    m = SIGMA**2 * CLIP**2 * np.eye(12) + Q * (1 - Q) * 3 * rows.T @ rows
    w = np.linalg.solve(m, own)
    assert strength == pytest.approx(SIGMA * math.sqrt(w @ own), rel=1e-10)
    expected = SIGMA * (w @ (released - Q * 3 * rows.sum(axis=0))) / math.sqrt(w @ own)
    assert canary.score(released) == pytest.approx(expected, rel=1e-10)


def test_forms_and_extremes():
    rng = np.random.default_rng(2)
    data, g, released = rng.normal(0, 0.4, (20, 12)), rng.normal(0, 1, 12), rng.normal(0, 1, 12)
    whole, listed = (dpaudit.InputCanary(SIGMA, CLIP, Q, 20) for _ in range(2))
    whole.look(data)
    listed.look([data[:, :8].reshape(20, 2, 4), data[:, 8:]])
    assert whole.aim(g) == pytest.approx(listed.aim([g[:8].reshape(2, 4), g[8:]]), rel=1e-12)
    assert whole.score(released) == pytest.approx(listed.score([released[:8].reshape(2, 4), released[8:]]), rel=1e-12)
    everyone = dpaudit.InputCanary(SIGMA, CLIP, 1.0, 20)  # q = 1: the data hide nothing
    everyone.look(data)
    assert everyone.aim(g) == pytest.approx(1.0)
    assert everyone.aim(0.25 * g / np.linalg.norm(g)) == pytest.approx(0.25)
    assert everyone.aim(np.zeros(12)) == 0.0 and everyone.score(released) == 0.0
    for wrong, words in (
        (lambda: dpaudit.InputCanary(0.0, CLIP, Q, 20), "sigma"),
        (lambda: dpaudit.InputCanary(SIGMA, CLIP, 2.0, 20), "q"),
        (lambda: dpaudit.InputCanary(SIGMA, CLIP, Q, 20, filter="best"), "filter"),
        (lambda: dpaudit.InputCanary(SIGMA, CLIP, Q, 20).score(released), "aim"),
        (lambda: whole.look(np.zeros((0, 12))), "no example"),
        (lambda: whole.look(np.full((3, 12), math.nan)), "not finite"),
        (lambda: whole.aim(np.zeros(11)), "11 numbers"),
        (lambda: whole.score(np.zeros(13)), "13 numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()


def gradients(w, x, y):
    """Of the softmax loss, weights [classes × features] and biases in one row each."""
    logits = x @ w[:10].reshape(2, 5).T + w[10:]
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True) - np.eye(2)[y]
    return np.concatenate([(p[:, :, None] * x[:, None, :]).reshape(len(x), -1), p], axis=1)


def play_the_command(folder, filter, count):
    """The game of `dpaudit run` with weights that stay: its scores, and the weights."""
    program = os.environ.get("DPAUDIT", str(folder / "dpaudit"))
    (folder / "training.yaml").write_text(
        'data: {format: arrays, path: x.npy, labels: y.npy, test: x.npy, test-labels: y.npy}\nmodel: ""\nseed: 1\n'
        f"train: {{sampling: poisson, steps: {count}, batch: 12, rate: 0}}\nprivacy: {{clip: {CLIP}, sigma: {SIGMA}, delta: 1e-5}}\n"
    )
    (folder / "audit.yaml").write_text(
        "{training: training.yaml, game: {kind: input-canary, canary: mislabelled, moving: true, "
        f"filter: {filter}, filter-examples: 60, observations: {count}}}}}"
    )
    done = subprocess.run([program, "run", "audit.yaml", "--output", filter, "--json"], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 5), done.stderr
    done = subprocess.run([program, "train", "training.yaml", "--output", "trained", "--quiet"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(folder / filter / "scores.npz") as file, np.load(folder / "trained" / "model.npz") as model:
        return file["members"], file["nonmembers"], model["weights"].astype(float)


@pytest.mark.parametrize("filter", ["matched", "dot"])
def test_the_game_of_the_command(source, tmp_path, filter, monkeypatch):
    monkeypatch.setenv("DPAUDIT", os.environ.get("DPAUDIT", str(source / "build" / "release" / "bin" / "dpaudit")))
    rng, count = np.random.default_rng(3), 2000
    x = rng.normal(size=(60, 5)).astype(np.float32)
    y = (x[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(np.int32)
    np.save(tmp_path / "x.npy", x.reshape(60, 1, 1, 5))
    np.save(tmp_path / "y.npy", y)
    members, nonmembers, weights = play_the_command(tmp_path, filter, count)
    data, wrong = clipped(gradients(weights, x, y)), clipped(gradients(weights, x, 1 - y))
    canary = dpaudit.InputCanary(SIGMA, CLIP, Q, 60, filter=filter)
    canary.look(data)
    strengths = [canary.aim(g) for g in wrong]
    for _ in range(count):
        own = wrong[rng.integers(60)]
        canary.aim(own)
        sums = [data[rng.random(60) < Q].sum(axis=0) + rng.normal(0, SIGMA * CLIP, 12) for _ in range(2)]
        canary.observe(sums[0] + own, without=sums[1])
    ours = [np.array(side) for side in canary.observations]
    error = 5.0 * math.sqrt(2.0) * nonmembers.std() / math.sqrt(count)
    shift = members.mean() - nonmembers.mean()
    assert np.mean(strengths) == pytest.approx(shift, abs=error)
    assert ours[0].mean() - ours[1].mean() == pytest.approx(shift, abs=1.5 * error)
    assert ours[1].std() == pytest.approx(nonmembers.std(), rel=0.1)
    assert ours[1].mean() == pytest.approx(nonmembers.mean(), abs=error)
    if filter == "matched":  # the data are the filter's own: its model holds
        assert nonmembers.std() == pytest.approx(SIGMA, rel=0.1)
    ends = [dpaudit.scores(*pair, family="gaussian", method="rank").results[0].parameter.lower for pair in (ours, (members, nonmembers))]
    assert ends[0] == pytest.approx(ends[1], abs=0.3)  # a distance of two laws has the standard error √(2/2000) or so in each


def test_one_sum_a_step_by_a_coin():
    rng = np.random.default_rng(5)
    data, own = clipped(rng.normal(0, 0.3, (40, 20))), clipped(rng.normal(0, 1, (1, 20)))[0]
    for noise, refuted in ((1.0, False), (0.4, True)):
        canary = dpaudit.InputCanary(1.0, CLIP, Q, 40)
        for _ in range(600):
            canary.look(data)
            canary.aim(own)
            member = bool(rng.integers(2))
            total = data[rng.random(40) < Q].sum(axis=0) + rng.normal(0, noise, 20) + (own if member else 0.0)
            canary.observe(total, member=member)
        assert sum(map(len, canary.observations)) == 600
        assert canary.result(sigma=1.0, confidence=0.999).refuted is refuted


def test_crafted_with_torch():
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    draw = torch.Generator().manual_seed(2)
    weights = torch.randn(3, 8, generator=draw).requires_grad_(True)
    x, y = torch.rand(50, 8, generator=draw), torch.randint(3, (50,), generator=draw)

    def gradient(one, label):
        loss = torch.nn.functional.cross_entropy(one[None] @ weights.T, label.reshape(1))
        return torch.autograd.grad(loss, [weights], create_graph=True)

    canary = dpaudit.InputCanary(0.7, 1.0, 0.2, 50)
    canary.look(torch.stack([gradient(a, b)[0].detach() for a, b in zip(x, y)]))
    label = (y[0] + 1) % 3
    before = canary.aim([g.detach() for g in gradient(x[0], label)])
    made = canary.craft(x[0], lambda one: gradient(one, label), 0.0, 1.0)
    after = canary.aim([g.detach() for g in gradient(made, label)])
    assert float(made.min()) >= 0.0 and float(made.max()) <= 1.0 and not made.requires_grad
    assert 0.0 < before < after <= 1.0 and after > 1.1 * before, (before, after)
    assert torch.equal(canary.craft(made, lambda one: [g.detach() for g in gradient(one, label)], 0.0, 1.0), made)
