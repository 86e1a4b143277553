#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much does one released classifier give away? Epsilon* of two models, from what they say about points they were
trained on and about others. With scikit-learn where it is installed, else with a logistic regression in numpy.

The number is about these model instances. It does not bound the training algorithm.
"""

import numpy as np

import dpaudit

try:
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
except ImportError:
    LogisticRegression = None


def make_data(seed=3, points=800, dim=200):
    """Features of which ten matter; half of the points is for training."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (points, dim))
    y = (x[:, :10].sum(axis=1) + rng.normal(0, 3, points) > 0).astype(int)
    half = points // 2
    return (x[:half], y[:half]), (x[half:], y[half:])


def fit_sklearn(x, y, penalty):
    """Anything with predict_proba will do: XGBoost and LightGBM have it too."""
    return LogisticRegression(C=1 / penalty, max_iter=2000).fit(x, y)


def fit_boosted(x, y, penalty):
    return GradientBoostingClassifier(n_estimators=80, learning_rate=1 / (10 + penalty), random_state=1).fit(x, y)


class NumpyLogistic:
    """Gradient descent on the penalised logistic loss."""

    def __init__(self, x, y, penalty, steps=3000, rate=0.02):
        self.weights = np.zeros(x.shape[1])
        for _ in range(steps):
            p = self.predict_proba(x)[:, 1]
            self.weights -= rate / len(x) * (x.T @ (p - y) + penalty * self.weights)

    def predict_proba(self, x):
        p = 1 / (1 + np.exp(-x @ self.weights))
        return np.stack([1 - p, p], axis=1)


def fit_torch(x, y, penalty, steps=400):
    """A network: its losses come from logits, which never saturate."""
    import torch

    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)).double()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=penalty / 1000)
    inputs, labels = torch.as_tensor(x), torch.as_tensor(y)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimiser.step()
    return model


def epsilon_star(fit, penalty):
    train, heldout = make_data()
    return dpaudit.losses(train, heldout, model=fit(*train, penalty))


def main(fit=None):
    fit = fit or (fit_sklearn if LogisticRegression else NumpyLogistic)
    reports = {}
    for name, penalty in (("overfitted", 0.01), ("penalised", 300.0)):
        reports[name] = epsilon_star(fit, penalty)
        result = reports[name].results[0]
        print(f"{name}: epsilon* = {result.epsilon:.2f}, interval {result.epsilon_lower:.2f} to {result.epsilon_upper:.2f}")
    return reports


if __name__ == "__main__":
    main()
