#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""DP-SGD in numpy, audited white-box while it trains: dpsgd_numpy.py [none|noise|clip]

A logistic regression is trained with clipped gradients and Gaussian noise. In every step a canary gradient takes part,
and the audit looks at what the step releases with and without it. Two bugs can be planted:
  noise   the noise is multiplied by the learning rate's 0.5: half of what was promised
  clip    the average is clipped instead of every single gradient
"""

import sys

import numpy as np

import dpaudit

DIM, POINTS, BATCH, STEPS = 1000, 400, 40, 500
CLIP, SIGMA, RATE = 1.0, 1.0, 0.5


def private_sum(gradients, rng, bug):
    """[batch × DIM] → [DIM]: what a step of DP-SGD releases. This is the code under audit."""
    if bug == "clip":
        total = gradients.sum(axis=0)
        total = total * min(1.0, CLIP * len(gradients) / np.linalg.norm(total))
    else:
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1.0, CLIP / norms)).sum(axis=0)
    scale = RATE if bug == "noise" else 1.0
    return total + rng.normal(0.0, scale * SIGMA * CLIP, DIM)


def example_gradients(weights, x, y):
    """Of the logistic loss, one row per example."""
    return (1 / (1 + np.exp(-x @ weights)) - y)[:, None] * x


def train(bug="none", seed=1):
    """Gives the weights and the canary with its observations."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1, DIM)
    x = rng.normal(0, 1, (POINTS, DIM)) / np.sqrt(DIM)
    y = (x @ truth > 0).astype(float)
    weights = np.zeros(DIM)
    canary = dpaudit.GradientCanary(DIM, CLIP, kind="dirac", moving=True, seed=seed)
    for step in range(STEPS):
        batch = rng.random(POINTS) < BATCH / POINTS
        gradients = example_gradients(weights, x[batch], y[batch])
        # Ten times too long, as a rare example's gradient may be: clipping must bring it back to CLIP.
        inserted = np.vstack([gradients, 10 * canary.gradient(step)])
        released = private_sum(gradients, rng, bug)
        canary.observe(private_sum(inserted, rng, bug), without=released)
        weights -= RATE / BATCH * released
    return weights, canary


def main(bug="none"):
    _, canary = train(bug)
    report = canary.result(sigma=SIGMA, confidence=0.99)  # one step, the canary certainly in it
    print(report)
    print(canary.end_to_end(q=BATCH / POINTS, steps=STEPS, sigma=SIGMA, confidence=0.99))
    return report


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]).refuted)
