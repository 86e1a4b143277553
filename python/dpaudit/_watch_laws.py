# SPDX-License-Identifier: GPL-3.0-or-later
"""The laws that the checks of `watch` need, in plain Python: tails of gamma, beta, binomial and Student, and Holm's rule.

Continued fractions and series (modified Lentz), accurate to about 1e-10 relative; shapes above a million use the
Wilson-Hilferty root. tests/python/test_watch_laws.py compares them with scipy.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Callable, Sequence

_TINY = 1e-300
_LARGE_SHAPE = 1e6
_NORMAL = NormalDist()


def normal_upper(z: float) -> float:
    """Pr[N(0,1) > z]."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def normal_quantile(p: float) -> float:
    """z with Pr[N(0,1) > z] = p: the upper one."""
    return -_NORMAL.inv_cdf(min(max(p, 1e-300), 1.0 - 1e-16))


def two_sided(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2.0))


def gamma_tails(shape: float, x: float) -> tuple[float, float]:
    """Pr[G ≤ x] and Pr[G > x] of a gamma law with this shape and scale 1."""
    if x <= 0.0:
        return 0.0, 1.0
    if shape > _LARGE_SHAPE:
        root = (math.pow(x / shape, 1.0 / 3.0) - (1.0 - 1.0 / (9.0 * shape))) * 3.0 * math.sqrt(shape)
        return normal_upper(-root), normal_upper(root)
    front = math.exp(min(shape * math.log(x) - x - math.lgamma(shape), 700.0))
    if x < shape + 1.0:
        lower = min(front * _gamma_series(shape, x), 1.0)
        return lower, 1.0 - lower
    upper = min(front * _gamma_fraction(shape, x), 1.0)
    return 1.0 - upper, upper


def _gamma_series(shape: float, x: float) -> float:
    term = total = 1.0 / shape
    at = shape
    for _ in range(200000):
        at += 1.0
        term *= x / at
        total += term
        if term < total * 1e-16:
            break
    return total


def _gamma_fraction(shape: float, x: float) -> float:
    b = x + 1.0 - shape
    c, d = 1.0 / _TINY, 1.0 / b
    value = d
    for i in range(1, 200000):
        a = -i * (i - shape)
        b += 2.0
        d = 1.0 / _away(a * d + b)
        c = _away(b + a / c)
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def beta_lower(a: float, b: float, x: float) -> float:
    """Pr[Beta(a, b) ≤ x]."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front)
    if x < (a + 1.0) / (a + b + 2.0):
        return min(front * _beta_fraction(a, b, x) / a, 1.0)
    return max(1.0 - front * _beta_fraction(b, a, 1.0 - x) / b, 0.0)


def beta_upper(a: float, b: float, x: float) -> float:
    return beta_lower(b, a, 1.0 - x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 200000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away(1.0 + term * d)
            c = _away(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def binomial_two_sided(successes: float, trials: float, p: float) -> float:
    """Twice the smaller tail, at most 1."""
    if trials <= 0:
        return 1.0
    low = beta_upper(successes + 1.0, trials - successes, p) if successes < trials else 1.0
    high = beta_lower(successes, trials - successes + 1.0, p) if successes > 0 else 1.0
    return min(1.0, 2.0 * min(low, high))


def binomial_upper(successes: float, trials: float, p: float) -> float:
    """Pr[X ≥ successes]."""
    return beta_lower(successes, trials - successes + 1.0, p) if successes > 0 else 1.0


def clopper_pearson(successes: float, trials: float, alpha: float) -> tuple[float, float]:
    if trials <= 0:
        return 0.0, 1.0
    lower, upper = 0.0, 1.0
    if successes > 0:
        lower = _solve(lambda p: beta_lower(successes, trials - successes + 1.0, p), alpha / 2.0, 0.0, 1.0)
    if successes < trials:
        upper = _solve(lambda p: 1.0 - beta_upper(successes + 1.0, trials - successes, p), 1.0 - alpha / 2.0, 0.0, 1.0)
    return lower, upper


def student_two_sided(t: float, dof: float) -> float:
    if dof > 1e6:
        return two_sided(t)
    return beta_lower(0.5 * dof, 0.5, dof / (dof + t * t))


def student_quantile(p: float, dof: float) -> float:
    """t with Pr[|T| > t] = p."""
    return _solve(lambda t: -student_two_sided(t, dof), -p, 0.0, 1e6)


def matched_gamma(value: float, mean: float, variance: float) -> tuple[float, float]:
    """Both tails of a positive quadratic form, by the gamma law with its mean and variance (Satterthwaite)."""
    if not (mean > 0.0 and variance > 0.0):
        return 1.0, 1.0
    return gamma_tails(mean * mean / variance, value * mean / variance)


def ratio_interval(value: float, mean: float, variance: float, alpha: float) -> tuple[float, float]:
    """All r for which a form with mean r·mean and variance r²·variance is not rejected at `alpha`, two-sided."""
    if not (mean > 0.0 and variance > 0.0):
        return 0.0, math.inf
    shape = mean * mean / variance
    top = _solve(lambda g: gamma_tails(shape, g)[0], 1.0 - alpha / 2.0, 0.0, shape + 60.0 * math.sqrt(shape) + 200.0)
    bottom = _solve(lambda g: gamma_tails(shape, g)[0], alpha / 2.0, 0.0, shape)
    scaled = value * mean / variance
    return scaled / top, scaled / bottom if bottom > 0.0 else math.inf


def _solve(rising: Callable[[float], float], target: float, low: float, high: float) -> float:
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-13 * high:
            break
        if rising(middle) < target:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values: rejecting those at most α keeps the chance of any false rejection at most α.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
