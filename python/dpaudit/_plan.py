# SPDX-License-Identifier: GPL-3.0-or-later
"""Before an audit: plan."""

from __future__ import annotations

import ctypes
from typing import Optional

from ._library import Query, declare, real, request, whole
from ._report import Report, run_long


declare("dpa__audit_plan", ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


def plan(
    claim_epsilon: Optional[float] = None,
    leak: Optional[float] = None,
    size: Optional[int] = None,
    delta: float = 1e-5,
    *,
    claim_sigma: Optional[float] = None,
    leak_sigma: Optional[float] = None,
    leak_family: Optional[str] = None,
    q: float = 1.0,
    steps: int = 1,
    game: Optional[str] = None,
    power: float = 0.8,
    confidence: float = 0.95,
    family: Optional[str] = None,
    method: Optional[str] = None,
    most: Optional[int] = None,
    points: int = 0,
    audits: int = 200,
    half_width: Optional[float] = None,
    fnr: Optional[float] = None,
    fpr: Optional[float] = None,
    seed: int = 1,
) -> Report:
    """How large an audit must be to refute a claim when the truth is `leak`, and what a budget of `size` shows.

    The claim and the leak are an epsilon at delta, or the noise of a training with rate `q` and `steps`. `game` is
    one of runs, steps, one-run, cosines. With `points`, power curves as `power_curve`. With `half_width`, `fnr` and
    `fpr`, also the samples for an estimate within that half width. Sequential audits, which stop when the claim falls,
    are simulated `audits` times: `plan.stops` has the pairs until then, with errors.

    Arguments:
        claim_epsilon: the promised ε at delta.
        leak: the true ε that is suspected.
        size: a budget: so many members and as many non-members, or canaries.
        delta: δ of claim and leak.
        claim_sigma: the promise as a noise multiplier instead.
        leak_sigma: the suspicion as a noise multiplier instead.
        leak_family: what leaks so much: "gaussian" (default), "laplace", "dp", "subsampled-gaussian:q=Q,steps=T".
        q: the training's sampling rate.
        steps: the training's steps.
        game: "runs", "steps", "one-run" or "cosines"; None: all that apply.
        power: how probable success must be.
        confidence: of the audit.
        family: what the audit assumes; None: dp and gaussian.
        method: one method; None: all that apply.
        most: the largest size that is tried (20000).
        points: power curves with so many points.
        audits: simulated audits for sequential ones.
        half_width: instead of a claim: an estimate within ± this.
        fnr: with it, the attack's false negative rate.
        fpr: and its false positive rate.
        seed: of simulations.

    >>> rows = plan(claim_epsilon=1, leak=4, family="gaussian", game="runs").plan.rows
    >>> [(row.method, row.size_needed) for row in rows]
    [('rank', 33), ('scan', 55), ('cp', 108), ('jeffreys', 99), ('bayes', 46), ('sequential', 92)]
    >>> early = plan(claim_epsilon=1, leak=8, family="gaussian", method="sequential").plan.stops[0]
    >>> early.mean_pairs, round(early.mean_error, 1), early.median_pairs, early.pairs_of_nine_in_ten
    (27.555, 0.5, 25, 36)
    >>> rows = plan(half_width=0.15, fnr=0.4, fpr=0.4, confidence=0.9, family="dp").precision.rows
    >>> [(row.method, row.samples_needed) for row in rows]
    [('cp', 1478), ('jeffreys', 1424), ('bayes', 544)]
    """
    has_claim = claim_epsilon is not None or claim_sigma is not None
    if not has_claim and half_width is None:
        raise ValueError("needs claim_epsilon or claim_sigma, what was promised, or half_width")
    if has_claim and leak is None and leak_sigma is None and size is None:
        raise ValueError("needs leak, the suspected epsilon, or size, a budget of observations")
    numbers = {
        "claim_sigma": claim_sigma,
        "leak": leak,
        "leak_sigma": leak_sigma,
        "half_width": half_width,
        "fnr": fnr,
        "fpr": fpr,
        "q": q,
        "power": power,
    }
    counts = {"size": size, "most": most, "points": points, "audits": audits, "steps": steps}
    query = Query("plan", game=game, leak_family=leak_family)
    query.set(**{name: real(name, value) for name, value in numbers.items() if value is not None})
    query.set(**{name: whole(name, value) for name, value in counts.items() if value is not None})
    asked = request(
        1,
        delta=delta,
        confidence=confidence,
        family=family,
        method=method,
        claim_epsilon=claim_epsilon,
        seed=seed,
    )
    return run_long("dpa__audit_plan", query.pointer, request=asked, keep=query)
