#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Flower-like server with canary clients, audited from the training that it does anyway: federated_flower.py [none|noise]

`Strategy` has the shape of a Flower strategy and stands for yours; the audit is the lines marked with *. The planted bug: a
third of the noise.
"""

import sys

import numpy as np

from dpaudit.federated import AuditedStrategy, FederatedAudit

ROUNDS, CLIENTS, CLIP, SIGMA = 10, 20, 0.5, 1.0
SHAPES = [(60, 50), (50,), (50, 20), (20,)]


class Strategy:
    """Clips, sums, adds noise, divides by a fixed number of clients."""

    def __init__(self, noise=SIGMA, seed=1):
        self.model, self.noise = [np.zeros(shape) for shape in SHAPES], noise
        self.rng = np.random.default_rng(seed)

    def aggregate_fit(self, server_round, results, failures):
        total = [np.zeros(shape) for shape in SHAPES]
        for _, parameters in results:
            update = [new - old for new, old in zip(parameters, self.model)]
            length = np.sqrt(sum((u**2).sum() for u in update))
            total = [t + u * min(1, CLIP / length) for t, u in zip(total, update)]
        noisy = [t + self.noise * CLIP * self.rng.normal(size=t.shape) for t in total]
        self.model = [old + t / CLIENTS for old, t in zip(self.model, noisy)]
        return self.model, {}


def client(model, rng):
    """A client's parameters after its training."""
    return [w + 0.01 * rng.normal(size=w.shape) for w in model]


def main(bug="none"):
    rng, strategy = np.random.default_rng(2), Strategy(SIGMA / 3 if bug == "noise" else SIGMA)
    dim = sum(w.size for w in strategy.model)
    audit = FederatedAudit(dim, ROUNDS, clip=CLIP, sigma=SIGMA, divisor=CLIENTS, canaries=200, seed=20261118)  # *
    audited = AuditedStrategy(strategy, audit, strategy.model)  # *
    for server_round in range(1, ROUNDS + 1):
        results = [(f"client {i}", client(strategy.model, rng)) for i in range(CLIENTS)]
        for i in audit.senders(server_round - 1):  # * canary clients
            sent = audit.update(i, like=strategy.model)  # *
            results.append((f"canary {i}", [w + u for w, u in zip(strategy.model, sent)]))  # *
        audited.aggregate_fit(server_round, results, [])
    report = audit.report(delta=1e-5)  # *
    print(report.verdict.headline)
    return report


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]).refuted)
