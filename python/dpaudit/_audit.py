# SPDX-License-Identifier: GPL-3.0-or-later
"""From evidence to bounds: counts, scores, one_run, cosines. The words are those of the command."""

from __future__ import annotations

import ctypes
import os
from array import array
from typing import Any, Optional, Union

from ._arrays import flags, numbers, numpy
from ._canaries import DIRECTIONS
from ._judge import Claim, Evidence, Path, as_claim, is_path, judge, path_text
from ._library import Query, choose, declare, real, request, whole
from ._report import Report, run_long

_OUT = ctypes.POINTER(ctypes.c_void_p)
_SIDES = {"both": 0, "in": 1, "out": 2}

#: Numbers: a list, an array of numpy, a tensor of torch, anything with the buffer protocol.
Values = Any


def claim_of(
    claim: Union[Claim, float, None], epsilon: Optional[float], delta: Optional[float], sigma: Optional[float] = None
) -> Claim:
    """The claim as an object or an ε, or by its numbers: not both."""
    if claim is None:
        return Claim(epsilon=epsilon, delta=delta, sigma=sigma)
    if epsilon is not None or sigma is not None:
        raise ValueError("claim and claim_epsilon: one claim only")
    return as_claim(claim, delta)


def counts(
    fn: int,
    tp: int,
    fp: int,
    tn: int,
    delta: Optional[float] = None,
    *,
    claim: Union[Claim, float, None] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    **options: Any,
) -> Report:
    """Bounds from a confusion matrix: members called out (`fn`) and in (`tp`), others called in (`fp`) and out (`tn`).

    Arguments:
        fn: members that the attack called "out" (false negatives).
        tp: members that it called "in".
        fp: others that it called "in" (false positives).
        tn: others that it called "out".
        delta: δ of the statement; 1e-5, or the claim's.
        claim: what was promised, as a `Claim` or an ε; or its numbers:
        claim_epsilon: the promised ε.
        claim_delta: its δ, when it is not `delta`.
        options: how to judge, as for `judge`: confidence (0.95), sides (1: a lower bound, 2: an interval), family, method,
            at_epsilon, curve, explain, all, …

    >>> report = counts(fn=35, tp=65, fp=25, tn=75, delta=0.05, sides=2, family="dp", method="bayes")
    >>> bound = report.results[-1]
    >>> round(bound.epsilon_lower, 6), round(bound.epsilon_upper, 6), bound.guarantee
    (0.521787, 1.266649, 'posterior')
    """
    seen = Evidence.counts(whole("fn", fn), whole("tp", tp), whole("fp", fp), whole("tn", tn))
    return judge(seen, claim_of(claim, claim_epsilon, claim_delta), delta=delta, **options)


def scores(
    members: Union[Values, Path],
    nonmembers: Union[Values, Path, None] = None,
    delta: Optional[float] = None,
    *,
    claim: Union[Claim, float, None] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    scope: Optional[str] = None,
    **options: Any,
) -> Report:
    """Bounds from attack scores of independent runs with (`members`) and without (`nonmembers`) the canary.

    Higher must mean "in".

    Arguments:
        members: scores of runs with the canary: numbers, or the path of a file as the command takes it. A file that
            dpaudit wrote says itself what it is, and has both kinds.
        nonmembers: scores of runs without it.
        delta: δ of the statement; 1e-5, or the claim's.
        claim: what was promised, as a `Claim` or an ε; or its numbers:
        claim_epsilon: the promised ε.
        claim_delta: its δ, when it is not `delta`.
        scope: what one score is about: "training" (a trained model) or "step" (one noisy step).
        options: how to judge, as for `judge`: confidence (0.95), sides (1: a lower bound, 2: an interval), family, method,
            select, must_detect, seed, threads, all, explain.

    >>> report = scores([3.1, 2.9, 3.3, 2.7] * 50, [0.2, 0.1, -0.4, 0.3] * 50, method="rank", family="gaussian")
    >>> report.results[0].epsilon_lower > 5
    True
    """
    seen = Evidence.scores(members, nonmembers).about(scope=scope)
    return judge(seen, claim_of(claim, claim_epsilon, claim_delta), delta=delta, **options)


# ── one run ───────────────────────────────────────────────────────────────────────────────────────


declare("dpa__audit_ideal", ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int, _OUT)


def _one_run_evidence(scores: Any, members: Any, correct: Any, options: int) -> Evidence:
    if is_path(scores):
        seen = Evidence._from("dpa_evidence_one_run", path_text("scores", scores), None, 0)
        return seen.about(options=None if options == 2 else options)
    if (members is None) == (correct is None):
        raise ValueError("scores: need either members or correct, 0 or 1 for each score")
    values = numbers("scores", scores)
    given = flags("correct", correct) if members is None else flags("members", members)
    if values.count != given.count:
        raise ValueError(f"scores: {values.count} of them, but {given.count} answers")
    all_scores: Any = (ctypes.c_double * values.count).from_address(values.address)
    answers: Any = (ctypes.c_uint8 * given.count).from_address(given.address)
    seen = Evidence("scores" if correct is None else "guesses").about(options=options)
    if correct is not None:
        seen._add("score", all_scores)
        seen._add("correct", array("d", answers))
        return seen
    np = numpy()
    if np is not None:
        x, is_in = np.frombuffer(all_scores), np.frombuffer(answers, dtype=np.uint8) != 0
        seen._add("members", x[is_in])
        seen._add("nonmembers", x[~is_in])
        return seen
    seen._add("members", array("d", (x for x, is_in in zip(all_scores, answers) if is_in)))
    seen._add("nonmembers", array("d", (x for x, is_in in zip(all_scores, answers) if not is_in)))
    return seen


def _flat(rows: Any) -> Any:
    np = numpy()
    if np is not None:
        return np.ascontiguousarray(rows, dtype=float).ravel()
    return array("d", (float(x) for row in rows for x in row))


def one_run(
    canaries: Optional[int] = None,
    guesses: Union[int, str, None] = None,
    correct: Union[int, Values, None] = None,
    delta: Optional[float] = None,
    *,
    options: int = 2,
    scores: Union[Values, Path, None] = None,
    members: Optional[Values] = None,
    side: str = "both",
    inclusion_rate: Optional[float] = None,
    null_noise: Any = None,
    claim: Union[Claim, float, None] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    claim_sigma: Optional[float] = None,
    **more: Any,
) -> Report:
    """Bounds from one training run with many canaries, each put in or left out by its own coin.

    Either counts (`canaries`, `guesses`, `correct`), or `scores` with `members`, or `scores` with `correct`, or a
    file in `scores`.

    Arguments:
        canaries: how many there were; with scores they are counted.
        guesses: how many were guessed. With scores a number that was fixed before, "auto" (default: the error is
            split over a fixed grid) or "max" (optimistic, shown only).
        correct: how many guesses were right; with scores 0 or 1 for each, for guesses that were made already.
        delta: δ of the statement; 1e-5, or the claim's.
        options: what each canary could be (2: in or out).
        scores: one for each canary, higher means "in"; or the path of a file as the command takes it.
        members: 0 or 1 for each score: was the canary in?
        side: which canaries are guessed: "both" ends of the order, only "in", only "out".
        inclusion_rate: the probability with which a canary was put in (0.5).
        null_noise: for method="channels" (every canary has a coordinate, and so noise, of its own: white-box canaries):
            what coordinates without a canary had, a row a step. Where their noise is not independent, guesses decide.
        claim: what was promised, as a `Claim` or an ε; or its numbers:
        claim_epsilon: the promised ε.
        claim_delta: its δ, when it is not `delta`.
        claim_sigma: the claim as a noise multiplier instead.
        more: how to judge, as for `judge`: confidence, family, method, seed, all, …

    >>> report = one_run(canaries=100_000, guesses=1500, correct=1429, family="gaussian")
    >>> round(report.results[0].epsilon_lower, 6)
    3.299235
    """
    _ = choose("side", side, _SIDES)
    if scores is None:
        if canaries is None or correct is None or guesses is None or isinstance(guesses, str):
            raise ValueError("needs scores, or canaries, guesses and correct as whole numbers")
        seen = Evidence("guesses")
        played = [whole("canaries", canaries), whole("guesses", guesses), whole("correct", correct)]
        seen._add("guess_counts", [float(n) for n in played])
        seen.about(options=whole("options", options))
    else:
        if canaries is not None:
            raise ValueError("canaries: counted from the scores")
        seen = _one_run_evidence(scores, members, correct, whole("options", options))
    seen.about(design="one-run", side=side, inclusion_rate=inclusion_rate)
    if null_noise is not None:
        seen._add("null_steps", [float(len(null_noise))])
        seen._add("null_noise", _flat(null_noise))
    promised = claim_of(claim, claim_epsilon, claim_delta, claim_sigma)
    return judge(seen, promised, delta=delta, guesses=guesses, **more)


def one_run_ideal(
    sigma: float,
    canaries: int,
    guesses: Optional[int] = None,
    delta: float = 1e-5,
    *,
    options: int = 2,
    simulate: int = 0,
    pointwise: bool = False,
    confidence: float = 0.95,
    family: Optional[str] = None,
    method: Optional[str] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    seed: int = 1,
) -> Report:
    """What a one-run audit of Gaussian noise can count on at best: expected right guesses and the bound they give.

    Arguments:
        sigma: the noise multiplier of what is audited.
        canaries: how many there are.
        guesses: how many are guessed; by default the best number of them.
        delta: δ of the bound.
        options: what each canary can be (2: in or out).
        simulate: play the game so often, too.
        pointwise: also the pointwise baseline (docs/methods/one-run-fdp.md).
        confidence: of the bound.
        family: what the audit assumes: "dp", "gaussian", …
        method: one method, by its name in the table.
        claim_epsilon: a claim to set the bound against.
        claim_delta: its δ, when it is not `delta`.
        seed: of simulations.

    >>> report = one_run_ideal(sigma=1.0, canaries=10_000, family="gaussian")
    >>> best = report.ideal.rows[0]
    >>> best.guesses, best.correct, round(best.epsilon_lower, 3), round(report.ideal.true_epsilon, 3)
    (345, 323, 3.036, 4.377)
    """
    ideal = Query(
        "ideal", sigma=real("sigma", sigma), canaries=whole("canaries", canaries), options=whole("options", options)
    )
    asked = request(
        1,
        delta=delta,
        confidence=confidence,
        family=family,
        method=method,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        seed=seed,
    )
    count = 0 if guesses is None else whole("guesses", guesses)
    return run_long(
        "dpa__audit_ideal",
        ideal.pointer,
        count,
        whole("simulate", simulate),
        asked.pointer,
        int(bool(pointwise)),
        keep=(ideal, asked),
    )


# ── cosines ───────────────────────────────────────────────────────────────────────────────────────


def cosines(
    observed: Union[Values, Path],
    dim: Optional[int] = None,
    delta: Optional[float] = None,
    *,
    null: Union[Values, Path, None] = None,
    direction: str = "sphere",
    claim: Union[Claim, float, None] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    **options: Any,
) -> Report:
    """Estimates of ε from the cosines of canaries with a model of `dim` parameters, from one training run.

    Arguments:
        observed: cosines of the canaries with the final model; with `null` the largest over all rounds. Numbers or
            the path of a file.
        dim: the number of parameters; not needed with `null`.
        delta: δ of the statement; 1e-5, or the claim's.
        null: largest cosines of canaries that never took part.
        direction: what the canaries were: "sphere", "signs", … (see `CanarySet`).
        claim: what was promised, as a `Claim` or an ε; or its numbers:
        claim_epsilon: the promised ε.
        claim_delta: its δ, when it is not `delta`.
        options: how to judge, as for `judge`: confidence (0.95), sides (1: a lower bound, 2: an interval), family, method,
            select, must_detect, seed, threads, all, explain.

    >>> report = cosines([0.02, 0.01, 0.03, 0.02, 0.04, 0.01, 0.02, 0.03], dim=10_000, method="mean")
    >>> round(report.results[0].epsilon, 3)  # ε between N(0, 1) and N(2.25, 1)
    11.569
    """
    choose("direction", direction, DIRECTIONS)
    seen = Evidence.cosines(observed, dim, null=null, direction=direction)
    return judge(seen, claim_of(claim, claim_epsilon, claim_delta), delta=delta, **options)
