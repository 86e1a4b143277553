# SPDX-License-Identifier: GPL-3.0-or-later
"""Before an audit: plan."""

from __future__ import annotations

import ctypes
from typing import Optional

from ._library import Request, declare, lib, mirror, real, request, whole
from ._report import Report, run_long


@mirror("dpa_plan_query")
class _Query(ctypes.Structure):
    _fields_ = [
        ("truth_epsilon", ctypes.c_double),
        ("power", ctypes.c_double),
        ("size", ctypes.c_uint64),
        ("most", ctypes.c_uint64),
    ]


lib.dpa_plan_query_init.argtypes = [ctypes.POINTER(_Query)]
lib.dpa_plan_query_init.restype = None
declare("dpa_audit_plan", ctypes.POINTER(_Query), ctypes.POINTER(Request), ctypes.POINTER(ctypes.c_void_p))


def plan(
    claim_epsilon: float,
    leak: Optional[float] = None,
    size: Optional[int] = None,
    delta: float = 1e-5,
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    family: Optional[str] = None,
    most: Optional[int] = None,
) -> Report:
    """How large an audit must be to refute a claim when the truth is `leak`, and what a budget of `size` shows.

    >>> rows = plan(claim_epsilon=1, leak=4, family="gaussian").plan.rows
    >>> [(row.method, row.size_needed) for row in rows]
    [('cp', 108), ('rank', 33), ('one-run', 124)]
    """
    if leak is None and size is None:
        raise ValueError("needs leak, the suspected epsilon, or size, a budget of observations")
    query = _Query()
    lib.dpa_plan_query_init(ctypes.byref(query))
    if leak is not None:
        query.truth_epsilon = real("leak", leak)
    if size is not None:
        query.size = whole("size", size)
    if most is not None:
        query.most = whole("most", most)
    query.power = real("power", power)
    asked = request(1, delta=delta, confidence=confidence, family=family, claim_epsilon=claim_epsilon)
    return run_long("dpa_audit_plan", ctypes.byref(query), ctypes.byref(asked), keep=(query, asked))
