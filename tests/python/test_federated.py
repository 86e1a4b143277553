# SPDX-License-Identifier: GPL-3.0-or-later
"""Known rounds from Python: servers of several shapes with noise of known epsilon, and what they certify."""

import io
import json
import math
import os
import subprocess
import types

import numpy as np
import pytest

import dpaudit
from dpaudit.federated import AuditedProcess, AuditedStrategy, FederatedAudit, flatten

DIM, ROUNDS, CANARIES, CLIP, SIGMA, CLIENTS = 5000, 8, 150, 0.5, 1.0, 20


def new_audit(**more):
    return FederatedAudit(DIM, ROUNDS, clip=CLIP, sigma=SIGMA, divisor=CLIENTS, canaries=CANARIES, seed=3, **more)


def noisy(rng, total, copies=1.0):
    return copies * total + rng.normal(0, SIGMA * CLIP, DIM)


def numpy_server(audit, copies=1.0, rounds=range(ROUNDS), seed=1):
    rng = np.random.default_rng(seed)
    for t in rounds:
        total = np.zeros(DIM)
        audit.insert(t, total)
        audit.released(t, noisy(rng, total, copies) / CLIENTS)
    return audit


def bound(audit, **options):
    return audit.report(delta=1e-3, **options)


def test_schedule_is_one_round_in_each_part():
    canaries = dpaudit.CanarySet(64, 5, unobserved=4, seed=7)
    every = canaries.schedule(10, 2)
    assert len(every) == 9 and all(0 <= a < 5 <= b < 10 for a, b in every)
    assert every == dpaudit.CanarySet(100, 9, seed=7).schedule(10, 2)
    with pytest.raises(ValueError):
        canaries.schedule(3, 4)


def test_hadamard_canaries_are_orthonormal():
    canaries = dpaudit.CanarySet(1025, 6, unobserved=2, direction="hadamard")
    assert canaries.direction == "hadamard"
    vectors = np.array([canaries.vector(i) for i in range(8)])
    assert vectors @ vectors.T == pytest.approx(np.eye(8), abs=1e-12)
    model = np.random.default_rng(1).normal(size=1025)
    assert canaries.cosines(model) == pytest.approx(vectors @ model / np.linalg.norm(model), abs=1e-6)


def test_own_adds_what_the_canary_has_in_the_release(tmp_path):
    canaries = dpaudit.CanarySet(512, 3, unobserved=2, direction="hadamard")
    one, two = np.random.default_rng(2).normal(size=(2, 512))
    canaries.own(one, [0, 3], unit=0.5)
    canaries.own(two, [0, 1, 4], unit=2.0)
    seen = canaries.known()
    want0 = (canaries.vector(0) @ one / 0.5 + canaries.vector(0) @ two / 2.0) / math.sqrt(2)
    assert isinstance(seen, dpaudit.Evidence)
    with pytest.raises(ValueError):
        canaries.own(one, [5])
    with pytest.raises(ValueError):
        canaries.own(one, [1], unit=0.0)
    seen.write(tmp_path / "k.npz")
    stored = np.load(tmp_path / "k.npz", allow_pickle=False)
    assert stored["members"] == pytest.approx([want0, canaries.vector(1) @ two / 2.0], abs=1e-5)


def test_a_right_server_stands_and_one_that_counts_thrice_falls(tmp_path):
    right = bound(numpy_server(new_audit()))
    assert right.verdict.state == "not-refuted"
    truth = dpaudit.account(sigma=SIGMA, delta=1e-3).epsilon.upper
    assert 0.5 * truth < right.verdict.epsilon_lower < truth
    assert bound(numpy_server(new_audit(), copies=3.0)).verdict.state == "refuted"
    seen = numpy_server(new_audit()).canaries.known(SIGMA)
    seen.write(tmp_path / "known.npz")
    again = dpaudit.judge(dpaudit.Evidence.read(tmp_path / "known.npz"), dpaudit.Claim(sigma=SIGMA, steps=1), delta=1e-3)
    assert again.verdict.epsilon_lower == pytest.approx(right.verdict.epsilon_lower, rel=1e-12)


def test_save_and_go_on(tmp_path):
    whole = numpy_server(new_audit(times=2))
    half = numpy_server(new_audit(times=2), rounds=range(4))
    half.save(tmp_path / "state")
    rest = FederatedAudit.load(tmp_path / "state")
    assert rest.done == 4
    with pytest.raises(ValueError):
        rest.released(3, np.ones(DIM))
    rng = np.random.default_rng(1)
    for t in range(ROUNDS):
        total = np.zeros(DIM)
        whole.insert(t, total)
        released = noisy(rng, total) / CLIENTS
        if t >= 4:
            rest.released(t, released)
    assert bound(rest).verdict.epsilon_lower == pytest.approx(bound(whole).verdict.epsilon_lower, rel=1e-9)


class Strategy:
    """As a strategy of Flower: results are pairs of (client, fit), parameters a list of arrays."""

    def __init__(self, momentum):
        self.model = [np.zeros((DIM // 2,)), np.zeros((DIM // 2,))]
        self.rng, self.velocity, self.momentum = np.random.default_rng(5), np.zeros(DIM), momentum
        self.name = "fedavg"

    def aggregate_fit(self, server_round, results, failures):
        total = sum((np.concatenate(fit) for _, fit in results), np.zeros(DIM))
        self.velocity = self.momentum * self.velocity + noisy(self.rng, total) / CLIENTS
        moved = np.concatenate(self.model) + self.velocity
        self.model = [moved[: DIM // 2], moved[DIM // 2 :]]
        return self.model, {"round": server_round}


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_strategy_of_flowers_shape(momentum):
    audit, strategy = new_audit(), Strategy(momentum)
    audited = AuditedStrategy(strategy, audit, strategy.model, momentum=momentum)
    assert audited.name == "fedavg"
    for server_round in range(1, ROUNDS + 1):
        fits = [(f"canary {i}", np.split(audit.update(i), 2)) for i in audit.senders(server_round - 1)]
        _, metrics = audited.aggregate_fit(server_round, fits, [])
        assert metrics["round"] == server_round
    truth = dpaudit.account(sigma=SIGMA, delta=1e-3).epsilon.upper
    assert 0.4 * truth < bound(audit).verdict.epsilon_lower < 1.1 * truth


class Process:
    """As an aggregation process of TFF."""

    def __init__(self):
        self.rng = np.random.default_rng(6)

    def next(self, state, updates):
        return state + 1, noisy(self.rng, sum(updates, np.zeros(DIM))) / CLIENTS


def test_a_process_of_tffs_shape():
    audit, state = new_audit(), 0
    process = AuditedProcess(Process(), audit)
    for _ in range(ROUNDS):
        state, _ = process.next(state, [np.zeros(DIM)])
    truth = dpaudit.account(sigma=SIGMA, delta=1e-3).epsilon.upper
    assert state == ROUNDS and 0.4 * truth < bound(audit).verdict.epsilon_lower < 1.1 * truth


def test_models_of_several_tensors():
    """Lists and dictionaries of arrays, Flower's Parameters: the same audit as of one vector."""
    flat, parts = new_audit(), new_audit()
    rng = np.random.default_rng(1)
    for t in range(ROUNDS):
        one, more = np.zeros(DIM), {"a": np.zeros((40, 50)), "b": [np.zeros(1000), np.zeros((2, 1000))]}
        flat.insert(t, one)
        parts.insert(t, more)
        assert flatten(more) == pytest.approx(one, abs=1e-12)
        released = noisy(rng, one) / CLIENTS
        flat.released(t, released)
        packed = io.BytesIO()
        np.save(packed, released.reshape(50, 100))
        parts.released(t, types.SimpleNamespace(tensors=[packed.getvalue()], tensor_type="numpy.ndarray"))
    assert bound(parts).verdict.epsilon_lower == pytest.approx(bound(flat).verdict.epsilon_lower, rel=1e-12)
    like = [np.zeros((10, 100)), np.zeros(DIM - 1000)]
    sent = flat.update(3, like=like)
    assert [part.shape for part in sent] == [(10, 100), (DIM - 1000,)]
    assert np.linalg.norm(flatten(sent)) == pytest.approx(CLIP)
    with pytest.raises(ValueError, match="like"):
        flat.update(3, like=[np.zeros(DIM + 1)])


def test_a_process_gets_canaries_in_the_shape_of_updates():
    seen = []

    class Shaped:
        def next(self, state, updates):
            seen.extend(u["w"].shape for u in updates)
            total = sum(u["w"] for u in updates)
            return types.SimpleNamespace(state=state, result={"w": total + np.random.default_rng(3).normal(size=(50, 100))})

    audit = FederatedAudit(DIM, 2, clip=CLIP, sigma=SIGMA, canaries=20)
    process = AuditedProcess(Shaped(), audit)
    process.next(0, iter([{"w": np.zeros((50, 100))}]))
    assert len(seen) == 1 + len(audit.senders(0)) and set(seen) == {(50, 100)}


def test_a_round_that_fails_releases_nothing():
    audit = new_audit()

    class Failing(Strategy):
        def aggregate_fit(self, server_round, results, failures):
            return (None, {}) if server_round == 2 else super().aggregate_fit(server_round, results, failures)

    strategy = Failing(0.0)
    audited = AuditedStrategy(strategy, audit, strategy.model)
    for server_round in range(1, ROUNDS + 1):
        audited.aggregate_fit(server_round, [("c", audit.update(i, strategy.model)) for i in audit.senders(server_round - 1)], [])
    assert audit.done == ROUNDS
    truth = dpaudit.account(sigma=SIGMA, delta=1e-3).epsilon.upper
    assert 0.4 * truth < bound(audit).verdict.epsilon_lower < 1.1 * truth


def test_a_strategy_with_momentum_goes_on_after_a_restart(tmp_path):
    whole, strategy = new_audit(), Strategy(0.9)
    audited = AuditedStrategy(strategy, whole, strategy.model, momentum=0.9)
    rest = previous = None
    for server_round in range(1, ROUNDS + 1):
        if server_round == 4:
            whole.save(tmp_path / "state")
            rest = AuditedStrategy(strategy, FederatedAudit.load(tmp_path / "state"), before, momentum=0.9, previous=previous)
        before = strategy.model
        out = audited.aggregate_fit(server_round, [("c", whole.update(i, before)) for i in whole.senders(server_round - 1)], [])
        previous, before = flatten(strategy.model) - flatten(before), strategy.model
        if rest is not None:
            rest._strategy = types.SimpleNamespace(aggregate_fit=lambda *_: out)
            rest.aggregate_fit(server_round, [], [])
    assert bound(rest.audit).verdict.epsilon_lower == pytest.approx(bound(whole).verdict.epsilon_lower, rel=1e-9)


@pytest.mark.parametrize(
    "wrong", [{"clip": 0}, {"sigma": 0}, {"divisor": 0}, {"clip": float("nan")}, {"canaries": 0}, {"times": 9}, {"canaries": 4000}]
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FederatedAudit(**{**dict(dim=DIM, rounds=ROUNDS, clip=CLIP, sigma=SIGMA, canaries=20), **wrong})


def test_the_rounds_alone_and_any_mechanism(tmp_path):
    """Scope participation, in Python and in the command, and a verdict without a family."""
    audit = numpy_server(new_audit(times=2))
    seen = audit.canaries.known(SIGMA)
    seen.write(tmp_path / "known.npz")
    for claim, options in (
        (dict(sigma=SIGMA, steps=2), {}),
        (dict(sigma=SIGMA, q=0.25, steps=ROUNDS), {}),
        (dict(sigma=SIGMA, scope="participation"), {}),
        (dict(sigma=SIGMA, steps=2), dict(family="dp")),
    ):
        here = dpaudit.judge(seen, dpaudit.Claim(**claim), delta=1e-3, **options)
        call = [os.environ["DPAUDIT"], "cosines", str(tmp_path / "known.npz"), "--delta=1e-3", "--json"]
        call += [f"--claim-{key}={value}" for key, value in claim.items()] + [f"--{key}={value}" for key, value in options.items()]
        there = json.loads(subprocess.run(call, capture_output=True, text=True).stdout)
        assert here.verdict.headline == there["verdict"]["headline"]
        assert there["verdict"]["scope"] == claim.get("scope", "training")
        assert there["verdict"]["epsilon_lower"] > 0
    assert here.results[0].family == "dp"
