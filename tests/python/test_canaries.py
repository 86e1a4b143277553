# SPDX-License-Identifier: GPL-3.0-or-later
"""Canaries in training loops: sets of directions, and gradients for a white-box audit."""

import copy
import math
from array import array

import numpy as np
import pytest

import dpaudit


def test_vectors_are_unit_directions_that_depend_on_seed_and_index_only():
    one, two = dpaudit.CanarySet(200, 5, seed=3), dpaudit.CanarySet(200, 2, seed=3, first=3, threads=1)
    vectors = np.array([one.vector(i) for i in range(5)])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5))
    assert (one.vector(3) == two.vector(0)).all()
    assert (one.vector(2, 2.5) == pytest.approx(2.5 * one.vector(2)))
    assert one.vector(1, dtype="float32").dtype == np.float32
    assert abs(vectors @ vectors.T - np.eye(5)).max() < 0.4
    assert (dpaudit.CanarySet(200, 1, seed=4).vector(0) != one.vector(0)).any()


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_add_to_is_the_sum_of_vectors_in_place(kind):
    canaries = dpaudit.CanarySet(300, 6, unobserved=2)
    total = np.ones(300, dtype=kind)
    canaries.add_to(total, ids=[1, 4], norm=3.0)
    want = 1 + 3 * canaries.vector(1) + 3 * canaries.vector(4)
    assert total == pytest.approx(want, abs=1e-6 if kind == "f4" else 1e-14)
    everyone = array("d", bytes(8 * 300))
    canaries.add_to(everyone)
    assert np.array(everyone) == pytest.approx(sum(canaries.vector(i) for i in range(6)), abs=1e-14)


def test_cosines_are_those_of_numpy():
    canaries = dpaudit.CanarySet(128, 10, unobserved=3)
    model, initial = np.random.default_rng(1).normal(0, 1, (2, 128))
    for change, got in ((model, canaries.cosines(model)), (model - initial, canaries.cosines(model, initial))):
        want = [canaries.vector(i) @ change / np.linalg.norm(change) for i in range(13)]
        assert got == pytest.approx(want, abs=1e-7)
    matrix = model.reshape(16, 8)
    assert (canaries.cosines(matrix) == canaries.cosines(model)).all()


def test_rounds_keep_the_largest(tmp_path):
    canaries, rng = dpaudit.CanarySet(64, 4, seed=5, unobserved=4), np.random.default_rng(2)
    assert canaries.rounds == 0 and (canaries.largest == -math.inf).all()
    changes = rng.normal(0, 1, (3, 64))
    for change in changes:
        canaries.round(change)
    want = np.max([canaries.cosines(change) for change in changes], axis=0)
    assert canaries.rounds == 3 and (canaries.largest == want).all()
    canaries.save(tmp_path / "state")
    again = dpaudit.CanarySet.load(tmp_path / "state")
    assert (again.dim, again.count, again.unobserved, again.seed, again.rounds) == (64, 4, 4, 5, 3)
    assert (again.largest == want).all() and len(again) == 8
    again.round(changes[0])
    assert (again.largest == want).all() and again.rounds == 4


def test_bad_canary_sets(tmp_path):
    canaries = dpaudit.CanarySet(50, 3)
    (tmp_path / "junk").write_bytes(b"no state")
    readonly = np.zeros(50)
    readonly.flags.writeable = False
    for call, words in (
        (lambda: dpaudit.CanarySet(1, 3), "dim"),
        (lambda: dpaudit.CanarySet(50, 0), ""),
        (lambda: dpaudit.CanarySet(-5, 1), "dim"),
        (lambda: dpaudit.CanarySet(50, 3, threads=2**40), "threads"),
        (lambda: canaries.vector(3), ""),
        (lambda: canaries.vector(-1), "i:"),
        (lambda: canaries.vector(0, math.nan), "norm"),
        (lambda: canaries.vector(0, dtype="int8"), "dtype"),
        (lambda: canaries.add_to([0.0] * 50), "in place"),
        (lambda: canaries.add_to(np.float64(0)), "in place"),
        (lambda: canaries.add_to(readonly), "in place"),
        (lambda: canaries.add_to(np.zeros(100)[::2]), "in place"),
        (lambda: canaries.add_to(np.zeros(50, dtype=int)), "in place"),
        (lambda: canaries.add_to(np.zeros(49)), "dimension 50"),
        (lambda: canaries.add_to(np.zeros(50), ids=[3]), "ids"),
        (lambda: canaries.cosines(np.zeros(50)), "0"),
        (lambda: canaries.cosines(np.full(50, math.nan)), "element 0 is nan"),
        (lambda: canaries.cosines(np.ones(51)), "dimension 50"),
        (lambda: canaries.round(np.ones(51)), "dimension 50"),
        (lambda: canaries.round(None), "change"),
        (lambda: canaries.cosines(None), "model"),
        (lambda: dpaudit.CanarySet.load(tmp_path / "junk"), "junk"),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert words in str(caught.value)
    with pytest.raises((OSError, ValueError), match="nowhere"):
        dpaudit.CanarySet.load(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="save"):
        copy.copy(canaries)
    assert canaries.rounds == 0


# ── gradients ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["dirac", "constant", "random"])
def test_gradients_have_the_clipping_norm(kind):
    canary = dpaudit.GradientCanary(40, 1.5, kind, seed=2)
    gradients = np.array([canary.gradient(step) for step in range(20)])
    assert np.linalg.norm(gradients, axis=1) == pytest.approx(np.full(20, 1.5))
    assert len(np.unique(gradients, axis=0)) > 10
    still = dpaudit.GradientCanary(40, 1.5, kind, moving=False, seed=2)
    assert (still.gradient(0) == still.gradient(9)).all()
    assert (dpaudit.GradientCanary(40, 1.5, kind, seed=2).gradient(7) == gradients[7]).all()


@pytest.mark.parametrize("kind", ["dirac", "constant", "random"])
@pytest.mark.parametrize("moving", [True, False])
def test_projections_have_means_one_and_zero(kind, moving):
    """Without noise the projections are 1 and 0 exactly; with it their deviation is the noise multiplier."""
    canary, rng = dpaudit.GradientCanary(1000, 2.0, kind, moving, seed=5), np.random.default_rng(5)
    for step in range(500):
        gradient = canary.gradient(step)
        canary.observe(gradient + rng.normal(0, 2.0 * 0.7, 1000), rng.normal(0, 2.0 * 0.7, 1000))
    for mean, values in zip((1, 0), canary.observations):
        assert np.mean(values) == pytest.approx(mean, abs=4 * 0.7 / math.sqrt(500))
        assert np.std(values) == pytest.approx(0.7, rel=0.15)


def test_one_sum_a_step_is_projected_on_a_decoy():
    canary = dpaudit.GradientCanary(5, 3.0, seed=1)
    for step in range(200):
        canary.observe(canary.gradient(step))
    members, nonmembers = canary.observations
    assert set(members) == {1.0} and set(nonmembers) == {0.0}


def test_float32_and_shapes():
    canary = dpaudit.GradientCanary(6, 1.0, "random")
    gradient = canary.gradient(0)
    canary.observe(gradient.astype("f4").reshape(2, 3), np.zeros((3, 2)))
    assert canary.observations[0][0] == pytest.approx(1, abs=1e-6) and canary.observations[1][0] == 0


def test_right_noise_stands_and_wrong_noise_falls():
    claim = dpaudit.account(sigma=1.0)
    for noise, refuted in ((1.0, False), (0.6, True)):
        canary, rng = dpaudit.GradientCanary(100, 1.0, seed=8), np.random.default_rng(8)
        for step in range(600):
            canary.observe(canary.gradient(step) + rng.normal(0, noise, 100), rng.normal(0, noise, 100))
        report = canary.result(claim, scope="step", confidence=0.99)
        assert report.refuted is refuted
        assert report.verdict.claim.epsilon == claim.epsilon.upper
        for said in ({"sigma": 1.0}, {"claim": dpaudit.Claim(sigma=1.0, scope="step")}, {"claim": dpaudit.Claim(sigma=1.0, q=0.1, steps=9)}):
            assert canary.result(confidence=0.99, **said).refuted is refuted
        promised = dpaudit.account(sigma=1.0, q=0.01, steps=1000)
        for said in ({"claim": promised}, {"claim": promised.epsilon.upper}, {"sigma": 1.0}):
            whole = canary.end_to_end(q=0.01, steps=1000, confidence=0.99, **said)
            assert whole.refuted is refuted
            assert (whole.epsilon.lower > promised.epsilon.upper) is refuted and whole.epsilon.upper == math.inf
            assert "at least" in str(whole) and ("REFUTED" in str(whole)) is refuted
        if refuted:
            with pytest.raises(dpaudit.Refuted, match="at least"):
                whole.check()
        else:
            assert whole.check() is whole


def test_a_claim_says_its_scope():
    """A bare number is an ε of nobody knows what: 3.0 of a training once convicted correct steps."""
    canary, rng = dpaudit.GradientCanary(100, 1.0, seed=8), np.random.default_rng(8)
    for step in range(300):
        canary.observe(canary.gradient(step) + rng.normal(0, 1.0, 100), rng.normal(0, 1.0, 100))
    for bare in (3.0, dpaudit.account(sigma=1.0)):
        with pytest.raises(ValueError, match="scope='step'.*scope='training'"):
            canary.result(bare)
    with pytest.raises(ValueError, match="needs q"):
        canary.result(3.0, scope="training")
    with pytest.raises(ValueError, match="say one of them"):
        canary.result(3.0, scope="step", sigma=1.0)
    training = dpaudit.account(sigma=1.0, q=0.01, steps=1000)
    of_training = canary.result(training, scope="training", q=0.01, steps=1000, confidence=0.99)
    assert not of_training.refuted and of_training.verdict.claim.scope == "step"
    assert canary.result(0.1, scope="training", q=0.01, steps=1000, confidence=0.99).refuted


def test_a_failed_result_leaves_the_canary_usable():
    canary = dpaudit.GradientCanary(10, 1.0)
    canary.observe(canary.gradient(0))
    with pytest.raises(ValueError) as kept:
        canary.result(method="no such method")
    canary.observe(canary.gradient(1))  # was a BufferError while the failure's traceback is kept
    assert len(canary.observations[0]) == 2 and kept.value is not None


@pytest.mark.parametrize("kind", ["dirac", "constant", "random"])
def test_lists_of_tensors(kind):
    shapes = [(3, 4), (5,), (2, 2, 2)]
    whole, listed = dpaudit.GradientCanary(25, 2.0, kind, seed=3), dpaudit.GradientCanary(shapes, 2.0, kind, seed=3)
    rng = np.random.default_rng(3)
    for step in range(30):
        flat, parts = whole.gradient(step), listed.gradient(step)
        assert [part.shape for part in parts] == shapes
        assert (np.concatenate([part.ravel() for part in parts]) == flat).all()
        noise = rng.normal(0, 1.0, 25)
        whole.observe(flat + noise)
        pieces = np.split(noise, [12, 17])
        listed.observe([part + piece.reshape(part.shape) for part, piece in zip(parts, pieces)])
    assert np.allclose(whole.observations, listed.observations, atol=1e-12)
    with pytest.raises(ValueError, match="17 numbers"):
        listed.observe([np.zeros((3, 4)), np.zeros(5)])


def test_bad_gradient_canaries():
    canary = dpaudit.GradientCanary(10, 1.0)
    for call in (
        lambda: dpaudit.GradientCanary(1, 1.0),
        lambda: dpaudit.GradientCanary(10, 0.0),
        lambda: dpaudit.GradientCanary(10, math.inf),
        lambda: dpaudit.GradientCanary(10, 1.0, "laplace"),
        lambda: dpaudit.GradientCanary(10, 1.0, seed=-1),
        lambda: canary.gradient(-1),
        lambda: canary.gradient(2**41),
        lambda: canary.observe(np.zeros(9)),
        lambda: canary.observe(np.full(10, math.nan)),
        lambda: canary.observe(np.zeros(10), np.full(10, math.inf)),
        lambda: canary.result(),
        lambda: canary.end_to_end(0.1, 10),
        lambda: canary.result(1.0, scope="epoch"),
    ):
        with pytest.raises(ValueError):
            call()
    assert [len(part) for part in canary.observations] == [0, 0]


def test_signs(tmp_path):
    signs = dpaudit.CanarySet(dim=900, count=5, seed=3, unobserved=2, direction="signs")
    vector = signs.vector(4, norm=30.0)
    assert set(np.unique(vector)) == {-1.0, 1.0}
    assert signs.direction == "signs" and dpaudit.CanarySet(dim=9, count=1).direction == "sphere"
    change = np.random.default_rng(1).normal(size=900) + 2 * vector
    found = signs.cosines(change)
    assert found[4] == pytest.approx(vector @ change / 30 / np.linalg.norm(change), abs=1e-7)
    assert found[4] > 0.8 > 0.2 > abs(np.delete(found, 4)).max()
    signs.round(change)
    signs.save(tmp_path / "state")
    again = dpaudit.CanarySet.load(tmp_path / "state")
    assert again.direction == "signs" and np.array_equal(again.largest, found)
    reports = [dpaudit.cosines(found[:5], dim=900, direction=d) for d in ("sphere", "signs")]
    names = [{a for r in report.results for a in r.assumptions} for report in reports]
    assert "sign-canaries" in names[1] and "random-canaries" in names[0]
    with pytest.raises(ValueError, match="direction"):
        dpaudit.CanarySet(dim=9, count=1, direction="cube")
