#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Federated averaging in numpy with canary clients, audited from the same single run: federated.py [none|noise]

Every round each client sends a clipped update; canary clients send a random direction instead. The server adds noise to
the sum. Afterwards the cosines of the canaries with the model, or the largest ones over all rounds, give ε for one
attacker each: who sees the final model only, and who sees every round. The planted bug: a tenth of the noise.
"""

import sys

import numpy as np

import dpaudit

DIM, CLIENTS, CANARIES, ROUNDS = 3000, 30, 60, 25
CLIP, SIGMA = 1.0, 4.0


def client_update(weights, x, y):
    """One step of least squares on a client's own data, clipped."""
    update = -x.T @ (x @ weights - y) / len(x)
    return update * min(1.0, CLIP / np.linalg.norm(update))


def train(bug="none", seed=2):
    """Gives the canaries, with all rounds seen, and the change of the model."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, DIM) / np.sqrt(DIM)
    data = [rng.normal(0, 1, (5, DIM)) for _ in range(CLIENTS)]
    clients = [(x, x @ truth) for x in data]
    canaries = dpaudit.CanarySet(DIM, CANARIES, seed=seed, unobserved=CANARIES)
    weights = np.zeros(DIM)
    scale = SIGMA * (0.1 if bug == "noise" else 1.0)
    for _ in range(ROUNDS):
        total = np.zeros(DIM)
        for x, y in clients:
            total += client_update(weights, x, y)
        canaries.add_to(total, norm=CLIP)  # every canary client takes part
        total += rng.normal(0, scale * CLIP, DIM)
        canaries.round(total)
        weights += total / (CLIENTS + CANARIES)
    return canaries, weights


def main(bug="none"):
    canaries, weights = train(bug)
    claim = dpaudit.account(sigma=SIGMA, steps=ROUNDS)
    final = dpaudit.cosines(canaries.cosines(weights)[:CANARIES], DIM, method="mean")
    largest = canaries.largest
    every = dpaudit.cosines(largest[:CANARIES], null=largest[CANARIES:], method="all-iterates")
    print(final, every, sep="\n")
    print(f"promised to whoever sees everything: ε = {claim.epsilon.upper:.2f}")
    return claim, final, every


if __name__ == "__main__":
    main(*sys.argv[1:])
