# SPDX-License-Identifier: GPL-3.0-or-later
"""The laws behind the checks of a watch, against scipy."""

import math

import pytest

from dpaudit import _watch_laws as laws

stats = pytest.importorskip("scipy.stats", reason="python3-scipy is not installed")


@pytest.mark.parametrize("shape", [0.5, 3.0, 50.0, 1e3, 1e5, 9e5])
@pytest.mark.parametrize("z", [-6, -3, -1, 0, 1, 3, 6])
def test_gamma(shape, z):
    x = max(shape + z * math.sqrt(shape), 1e-3)
    lower, upper = laws.gamma_tails(shape, x)
    assert lower == pytest.approx(stats.gamma.cdf(x, shape), rel=1e-7, abs=1e-14)
    assert upper == pytest.approx(stats.gamma.sf(x, shape), rel=1e-7, abs=1e-14)


def test_gamma_of_large_shape():
    for z in (-4, 0, 4):
        lower, upper = laws.gamma_tails(4e6, 4e6 + z * 2e3)
        assert lower == pytest.approx(stats.gamma.cdf(4e6 + z * 2e3, 4e6), rel=1e-3)
        assert upper == pytest.approx(stats.gamma.sf(4e6 + z * 2e3, 4e6), rel=1e-3)
    assert laws.gamma_tails(2.0, 0.0) == (0.0, 1.0) and laws.gamma_tails(2.0, -1.0) == (0.0, 1.0)


@pytest.mark.parametrize("n", [1, 10, 500, 10**5, 10**7])
@pytest.mark.parametrize("p", [0.01, 0.5, 0.9])
def test_binomial(n, p):
    for z in (-5, -1, 0, 1, 5):
        k = int(min(max(n * p + z * math.sqrt(n * p * (1 - p)), 0), n))
        assert laws.binomial_upper(k, n, p) == pytest.approx(stats.binom.sf(k - 1, n, p), rel=1e-6, abs=1e-14)
        two = min(1.0, 2 * min(stats.binom.sf(k - 1, n, p), stats.binom.cdf(k, n, p)))
        assert laws.binomial_two_sided(k, n, p) == pytest.approx(two, rel=1e-6, abs=1e-14)
        low, high = laws.clopper_pearson(k, n, 0.01)
        assert low == pytest.approx(stats.beta.ppf(0.005, k, n - k + 1) if k else 0.0, rel=1e-6, abs=1e-12)
        assert high == pytest.approx(stats.beta.ppf(0.995, k + 1, n - k) if k < n else 1.0, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("dof", [1, 5, 100, 1e5])
def test_student(dof):
    for t in (0.1, 1, 4, 8):
        assert laws.student_two_sided(t, dof) == pytest.approx(2 * stats.t.sf(t, dof), rel=1e-8)
    assert laws.student_quantile(1e-4, dof) == pytest.approx(stats.t.isf(0.5e-4, dof), rel=1e-6)


def test_interval_of_a_ratio():
    for value, dof in ((110.0, 100.0), (0.3, 2.0), (7.1e5, 7e5)):
        low, high = laws.ratio_interval(value, dof, 2 * dof, 0.01)
        assert low == pytest.approx(value / stats.chi2.ppf(0.995, dof), rel=1e-6)
        assert high == pytest.approx(value / stats.chi2.ppf(0.005, dof), rel=1e-6)


def test_normal():
    for z in (-3.0, 0.0, 1.0, 6.0):
        assert laws.normal_upper(z) == pytest.approx(stats.norm.sf(z))
        assert laws.two_sided(z) == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert laws.normal_quantile(1e-5) == pytest.approx(stats.norm.isf(1e-5))


def test_holm_by_definition():
    """Reject in order of p while p_(i) ≤ α/(m − i): the same decisions at every α."""
    p_values = [0.004, 0.2, 0.011, 0.011, 0.9, 0.03]
    adjusted = laws.holm(p_values)
    for alpha in (0.01, 0.03, 0.05, 0.06, 0.1, 0.3):
        rejected, order = set(), sorted(range(6), key=lambda i: p_values[i])
        for rank, i in enumerate(order):
            if p_values[i] > alpha / (6 - rank):
                break
            rejected.add(i)
        assert {i for i in range(6) if adjusted[i] <= alpha} == rejected
