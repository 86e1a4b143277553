# SPDX-License-Identifier: GPL-3.0-or-later
"""A pytest that guards a DP library: put one like it beside the library's other tests, and CI fails when the noise is
wrong. `noisy_sum` stands for the function of yours that promises something.

The confidence is chosen so that a right library fails once in ten thousand runs; with the seed fixed it never does.
"""

import numpy as np
import pytest

import dpaudit

RUNS = 4000


def noisy_sum(values, clip_norm, sigma, rng):
    """The library under test: a sum of clipped numbers with Gaussian noise."""
    return np.clip(values, -clip_norm, clip_norm).sum() + rng.normal(0, sigma * clip_norm)


def broken_sum(values, clip_norm, sigma, rng):
    """As above, but whoever wrote it took the variance for the deviation."""
    return np.clip(values, -clip_norm, clip_norm).sum() + rng.normal(0, (sigma * clip_norm) ** 2)


def audit(mechanism, sigma, seed=1):
    """What the mechanism says about two neighbours, the worst ones that we can think of, often."""
    rng = np.random.default_rng(seed)
    base = np.array([0.3, -0.2, 0.9])
    with_one = [mechanism(np.append(base, 50.0), 1.0, sigma, rng) for _ in range(RUNS)]
    without = [mechanism(base, 1.0, sigma, rng) for _ in range(RUNS)]
    promised = dpaudit.account(sigma=sigma)
    return dpaudit.scores(
        with_one,
        without,
        family="gaussian",
        method="rank",
        confidence=0.9999,
        claim_epsilon=promised.epsilon.upper,
    )


@pytest.mark.parametrize("sigma", [0.7, 1.0, 3.0])
def test_noisy_sum_keeps_its_promise(sigma):
    audit(noisy_sum, sigma).check()


def test_the_audit_has_teeth():
    """An audit that cannot fail proves nothing: a known bug must be found."""
    with pytest.raises(dpaudit.Refuted):
        audit(broken_sum, 0.7).check()


def test_the_accountant_agrees_with_the_closed_form():
    claim = dpaudit.account(sigma=1.0, delta=1e-5)
    assert claim.epsilon.lower <= 4.377178095681 <= claim.epsilon.upper
