# SPDX-License-Identifier: GPL-3.0-or-later
"""What a claim means: account, calibrate, two_gaussians."""

from __future__ import annotations

import ctypes
import math

from ._library import declare, lib
from ._report import Report, run

_MECHANISMS = {"gaussian": 0, "laplace": 1, "randomized-response": 2}
_ADJACENCIES = {"add-remove": 0, "replace-one": 1}
_FINDS = {"sigma": 0, "q": 1, "steps": 2}


class _Phase(ctypes.Structure):
    _fields_ = [
        ("mechanism", ctypes.c_int),
        ("sigma", ctypes.c_double),
        ("q", ctypes.c_double),
        ("steps", ctypes.c_uint64),
    ]


class _Opts(ctypes.Structure):
    _fields_ = [
        ("adjacency", ctypes.c_int),
        ("delta", ctypes.c_double),
        ("tolerance", ctypes.c_double),
        ("absolute", ctypes.c_double),
        ("max_grid", ctypes.c_size_t),
    ]


class _Query(ctypes.Structure):
    _fields_ = [
        ("phases", ctypes.POINTER(_Phase)),
        ("count", ctypes.c_size_t),
        ("opts", _Opts),
        ("epsilon", ctypes.c_double),
        ("fpr", ctypes.c_double),
        ("curve_points", ctypes.c_size_t),
    ]


_OUT = ctypes.POINTER(ctypes.c_void_p)
lib.dpa_account_query_init.argtypes = [ctypes.POINTER(_Query)]
lib.dpa_account_query_init.restype = None
declare("dpa_audit_account", ctypes.POINTER(_Query), _OUT)
declare("dpa_audit_calibrate", ctypes.POINTER(_Query), ctypes.c_int, _OUT)
declare("dpa_audit_two_gaussians", *[ctypes.c_double] * 5, _OUT)


def _choose(what, word, table):
    try:
        return table[word]
    except KeyError:
        raise ValueError(f"{what}: '{word}' is not one of {', '.join(table)}") from None


def _query(sigma, q, steps, delta, mechanism, adjacency, phases, tolerance):
    kind = _choose("mechanism", mechanism, _MECHANISMS)
    rows = [] if sigma is None else [(sigma, q, steps)]
    rows += list(phases or [])
    if not rows:
        raise ValueError("needs sigma, or phases as (sigma, q, steps)")
    query = _Query()
    lib.dpa_account_query_init(ctypes.byref(query))
    query.phases = (_Phase * len(rows))(*[_Phase(kind, float(s), float(r), int(t)) for s, r, t in rows])
    query.count = len(rows)
    query.opts.adjacency = _choose("adjacency", adjacency, _ADJACENCIES)
    query.opts.delta = float(delta)
    if tolerance is not None:
        query.opts.tolerance = float(tolerance)
        query.opts.absolute = min(query.opts.absolute, 0.1 * float(tolerance))
    return query


def account(
    sigma=None,
    q=1.0,
    steps=1,
    delta=1e-5,
    *,
    mechanism="gaussian",
    adjacency="add-remove",
    phases=None,
    epsilon=math.nan,
    fpr=math.nan,
    points=0,
    tolerance=None,
) -> Report:
    """ε at δ of a mechanism, as an interval that contains the truth.

    >>> claim = account(sigma=1.0, q=0.01, steps=1000, delta=1e-5)
    >>> round(claim.epsilon.lower, 2), round(claim.epsilon.upper, 2)
    (1.83, 1.83)
    """
    query = _query(sigma, q, steps, delta, mechanism, adjacency, phases, tolerance)
    query.epsilon, query.fpr, query.curve_points = float(epsilon), float(fpr), int(points)
    return run("dpa_audit_account", ctypes.byref(query))


def calibrate(
    epsilon,
    delta=1e-5,
    *,
    find="sigma",
    sigma=1.0,
    q=1.0,
    steps=1,
    mechanism="gaussian",
    adjacency="add-remove",
    phases=None,
    tolerance=None,
) -> Report:
    """The noise (or rate, or steps) that meets a target ε, rounded to the safe side.

    >>> found = calibrate(epsilon=2.0, q=0.01, steps=1000)
    >>> found.epsilon.upper <= 2.0
    True
    """
    query = _query(sigma, q, steps, delta, mechanism, adjacency, phases, tolerance)
    query.epsilon = float(epsilon)
    return run("dpa_audit_calibrate", ctypes.byref(query), _choose("find", find, _FINDS))


def two_gaussians(mu1, s1, mu2, s2, delta=1e-5) -> Report:
    """The exact ε between N(mu1, s1²) and N(mu2, s2²), the larger of both directions.

    >>> round(two_gaussians(0, 1, 1, 1).epsilon.upper, 6)
    4.377178
    """
    return run("dpa_audit_two_gaussians", float(mu1), float(s1), float(mu2), float(s2), float(delta))
