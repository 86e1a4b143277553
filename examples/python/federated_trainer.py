# SPDX-License-Identifier: GPL-3.0-or-later
"""A DP-FedAvg in numpy and its one-shot audit: canary clients send changes of their own, the server clips and sums them like any other.
NOISE=0.3 in the environment leaves out most of the noise."""

import os

import dpaudit
import numpy as np

CLIENTS, WEIGHTS, COHORT, ROUNDS, SIGMA = 60, 1000, 20, 30, 2.0
NOISE = SIGMA * float(os.environ.get("NOISE", 1))
data = np.random.default_rng(1)
X = data.normal(size=(CLIENTS, 8, WEIGHTS))
Y = X @ data.normal(size=WEIGHTS) > 0


class FedAvg:
    def start(self, members, seed, init):
        self.theta, self.clients, self.random = np.zeros(WEIGHTS), members, np.random.default_rng(seed)
        return WEIGHTS

    def batch(self):  # who is in the next round
        return self.clients[self.random.random(len(self.clients)) < COHORT / CLIENTS]

    def change(self, client):  # one step of logistic regression on the client's own rows
        x, y = X[client], Y[client]
        return 0.5 * x.T @ (y - 1 / (1 + np.exp(-x @ self.theta))) / len(y)

    def step(self, batch, extra):  # one round; `extra` are the changes of the canary clients
        total = NOISE * self.random.normal(size=WEIGHTS)
        for change in [self.change(c) for c in batch] + list(extra):
            total += change * min(1.0, 1.0 / np.linalg.norm(change))
        self.theta = self.theta + total / COHORT
        return total

    def weights(self):
        return self.theta


federate = {"rounds": ROUNDS, "participation": "poisson", "cohort": COHORT, "canaries": 100, "direction": "hadamard"}
trainer = dpaudit.trainer(FedAvg, points=CLIENTS)
played = dpaudit.run({"kind": "federated", "federate": federate}, trainer, size=WEIGHTS, clip=1, sigma=SIGMA, progress=False)
print(played.report.headline)
