#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much does one released classifier give away? Epsilon* of two models, from what they say about points they were
trained on and about others. With scikit-learn where it is installed, else with a logistic regression in numpy.

The number is about these model instances. It does not bound the training algorithm.
"""

import numpy as np

import dpaudit

try:
    from sklearn.linear_model import LogisticRegression
except ImportError:
    LogisticRegression = None


def make_data(seed=3, points=400, dim=150):
    """Features of which ten matter; half of the points is for training."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (points, dim))
    y = (x[:, :10].sum(axis=1) + rng.normal(0, 3, points) > 0).astype(int)
    half = points // 2
    return (x[:half], y[:half]), (x[half:], y[half:])


def fit_sklearn(x, y, penalty):
    model = LogisticRegression(C=1 / penalty, max_iter=2000).fit(x, y)
    return lambda points: model.predict_proba(points)


def fit_numpy(x, y, penalty, steps=3000, rate=0.02):
    """Gradient descent on the penalised logistic loss."""
    weights = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-x @ weights))
        weights -= rate / len(x) * (x.T @ (p - y) + penalty * weights)
    return lambda points: 1 / (1 + np.exp(-points @ weights))


def epsilon_star(fit, penalty):
    (train, train_labels), (heldout, heldout_labels) = make_data()
    predict = fit(train, train_labels, penalty)
    return dpaudit.losses(
        predict(train),
        predict(heldout),
        train_labels=train_labels,
        heldout_labels=heldout_labels,
        method="empirical",
        bootstrap=100,
    )


def main(fit=None):
    fit = fit or (fit_sklearn if LogisticRegression else fit_numpy)
    reports = {}
    for name, penalty in (("overfitted", 0.01), ("penalised", 300.0)):
        reports[name] = epsilon_star(fit, penalty)
        result = reports[name].results[0]
        print(f"{name}: epsilon* = {result.epsilon:.2f}, interval {result.epsilon_lower:.2f} to {result.epsilon_upper:.2f}")
    return reports


if __name__ == "__main__":
    main()
