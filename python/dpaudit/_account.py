# SPDX-License-Identifier: GPL-3.0-or-later
"""What a claim means: account, calibrate, two_gaussians."""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, Optional, Tuple

from ._library import choose, declare, lib, mirror, real, whole
from ._report import Report, run, run_long

_MECHANISMS = {"gaussian": 0, "laplace": 1, "randomized-response": 2}
_ADJACENCIES = {"add-remove": 0, "replace-one": 1}
_FINDS = {"sigma": 0, "q": 1, "steps": 2}
_OUT = ctypes.POINTER(ctypes.c_void_p)

Phases = Iterable[Tuple[float, float, int]]


@mirror("dpa_phase")
class _Phase(ctypes.Structure):
    _fields_ = [
        ("mechanism", ctypes.c_int),
        ("sigma", ctypes.c_double),
        ("q", ctypes.c_double),
        ("steps", ctypes.c_uint64),
        ("pair", ctypes.c_void_p),
    ]


@mirror("dpa_account_opts")
class _Opts(ctypes.Structure):
    _fields_ = [
        ("adjacency", ctypes.c_int),
        ("delta", ctypes.c_double),
        ("tolerance", ctypes.c_double),
        ("absolute", ctypes.c_double),
        ("max_grid", ctypes.c_size_t),
        ("group", ctypes.c_uint),
    ]


@mirror("dpa_account_query")
class _Query(ctypes.Structure):
    _fields_ = [
        ("phases", ctypes.POINTER(_Phase)),
        ("count", ctypes.c_size_t),
        ("opts", _Opts),
        ("epsilon", ctypes.c_double),
        ("fpr", ctypes.c_double),
        ("curve_points", ctypes.c_size_t),
    ]


lib.dpa_account_query_init.argtypes = [ctypes.POINTER(_Query)]
lib.dpa_account_query_init.restype = None
declare("dpa_audit_account", ctypes.POINTER(_Query), _OUT)
declare("dpa_audit_calibrate", ctypes.POINTER(_Query), ctypes.c_int, _OUT)
declare("dpa_audit_two_gaussians", *[ctypes.c_double] * 5, _OUT)


def _phase(kind: int, sigma: Any, q: Any, steps: Any) -> _Phase:
    return _Phase(kind, real("sigma", sigma), real("q", q), whole("steps", steps))


def _query(
    sigma: Optional[float],
    q: float,
    steps: int,
    delta: float,
    mechanism: str,
    adjacency: str,
    phases: Optional[Phases],
    tolerance: Optional[float],
) -> _Query:
    kind = choose("mechanism", mechanism, _MECHANISMS)
    rows = [] if sigma is None else [_phase(kind, sigma, q, steps)]
    rows += [_phase(kind, *row) for row in phases or ()]
    if not rows:
        raise ValueError("needs sigma, or phases as (sigma, q, steps)")
    query = _Query()
    lib.dpa_account_query_init(ctypes.byref(query))
    query.phases = (_Phase * len(rows))(*rows)
    query.count = len(rows)
    query.opts.adjacency = choose("adjacency", adjacency, _ADJACENCIES)
    query.opts.delta = real("delta", delta)
    if tolerance is not None:
        query.opts.tolerance = real("tolerance", tolerance)
        query.opts.absolute = min(query.opts.absolute, 0.1 * query.opts.tolerance)
    return query


def account(
    sigma: Optional[float] = None,
    q: float = 1.0,
    steps: int = 1,
    delta: float = 1e-5,
    *,
    mechanism: str = "gaussian",
    adjacency: str = "add-remove",
    phases: Optional[Phases] = None,
    epsilon: Optional[float] = None,
    fpr: Optional[float] = None,
    points: int = 0,
    tolerance: Optional[float] = None,
) -> Report:
    """ε at δ of a mechanism, as an interval that contains the truth.

    `phases` adds parts of a training run as (sigma, q, steps). With `epsilon` also δ at that ε, with `fpr` also the
    power of the best attack there, with `points` also the trade-off curve.

    >>> claim = account(sigma=1.0, q=0.01, steps=1000, delta=1e-5)
    >>> round(claim.epsilon.lower, 2), round(claim.epsilon.upper, 2)
    (1.83, 1.83)
    """
    query = _query(sigma, q, steps, delta, mechanism, adjacency, phases, tolerance)
    if epsilon is not None:
        query.epsilon = real("epsilon", epsilon)
    if fpr is not None:
        query.fpr = real("fpr", fpr)
    query.curve_points = whole("points", points)
    return run_long("dpa_audit_account", ctypes.byref(query), keep=query)


def calibrate(
    epsilon: float,
    delta: float = 1e-5,
    *,
    find: str = "sigma",
    sigma: float = 1.0,
    q: float = 1.0,
    steps: int = 1,
    mechanism: str = "gaussian",
    adjacency: str = "add-remove",
    phases: Optional[Phases] = None,
    tolerance: Optional[float] = None,
) -> Report:
    """The noise (or, with `find`, the rate or the steps) that meets a target ε, rounded to the safe side.

    >>> found = calibrate(epsilon=2.0, q=0.01, steps=1000)
    >>> found.epsilon.upper <= 2.0
    True
    """
    query = _query(sigma, q, steps, delta, mechanism, adjacency, phases, tolerance)
    query.epsilon = real("epsilon", epsilon)
    return run_long("dpa_audit_calibrate", ctypes.byref(query), choose("find", find, _FINDS), keep=query)


def two_gaussians(mu1: float, s1: float, mu2: float, s2: float, delta: float = 1e-5) -> Report:
    """The exact ε between N(mu1, s1²) and N(mu2, s2²), the larger of both directions.

    >>> round(two_gaussians(0, 1, 1, 1).epsilon.upper, 6)
    4.377178
    """
    numbers = {"mu1": mu1, "s1": s1, "mu2": mu2, "s2": s2, "delta": delta}
    return run("dpa_audit_two_gaussians", *[real(name, value) for name, value in numbers.items()])
