# SPDX-License-Identifier: GPL-3.0-or-later
"""From evidence to bounds: counts, scores, one_run, cosines. The words are those of the command."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

from ._arrays import Numbers, flags, numbers
from ._canaries import DIRECTIONS
from ._library import Request, call, choose, declare, declare_free, lib, mirror, real, request, text, whole
from ._report import Report, run, run_long

_OUT = ctypes.POINTER(ctypes.c_void_p)
_REQUEST = ctypes.POINTER(Request)
_SIDES = {"both": 0, "in": 1, "out": 2}
_FIXED, _AUTO, _MAX = range(3)

Path = Union[str, "os.PathLike[str]"]
#: Numbers: a list, an array of numpy, a tensor of torch, anything with the buffer protocol.
Values = Any


def path_text(name: str, value: Path) -> bytes:
    return text(name, os.fsdecode(os.fspath(value)))


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


# ── counts ────────────────────────────────────────────────────────────────────────────────────────


@mirror("dpa_counts")
class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("fn", "tp", "fp", "tn")]


@mirror("dpa_counts_query")
class _CountsQuery(ctypes.Structure):
    _fields_ = [
        ("counts", _Counts),
        ("at_epsilon", ctypes.c_double),
        ("curve", ctypes.c_int),
        ("explain", ctypes.c_int),
    ]


lib.dpa_counts_query_init.argtypes = [ctypes.POINTER(_CountsQuery)]
lib.dpa_counts_query_init.restype = None
declare("dpa_audit_counts", ctypes.POINTER(_CountsQuery), _REQUEST, _OUT)


def counts(
    fn: int,
    tp: int,
    fp: int,
    tn: int,
    delta: float = 1e-5,
    *,
    confidence: float = 0.95,
    sides: int = 1,
    family: Optional[str] = None,
    method: Optional[str] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    at_epsilon: Optional[float] = None,
    curve: bool = False,
    explain: bool = False,
) -> Report:
    """Bounds from a confusion matrix: members called out (`fn`) and in (`tp`), others called in (`fp`) and out (`tn`).

    Without a family or a method: all that apply.

    >>> report = counts(fn=35, tp=65, fp=25, tn=75, delta=0.05, sides=2, family="dp", method="bayes")
    >>> bound = report.results[0]
    >>> round(bound.epsilon_lower, 6), round(bound.epsilon_upper, 6)
    (0.521787, 1.266649)
    """
    query = _CountsQuery()
    lib.dpa_counts_query_init(ctypes.byref(query))
    query.counts = _Counts(whole("fn", fn), whole("tp", tp), whole("fp", fp), whole("tn", tn))
    query.curve, query.explain = bool(curve), bool(explain)
    if at_epsilon is not None:
        query.at_epsilon = real("at_epsilon", at_epsilon)
    asked = request(
        sides,
        delta=delta,
        confidence=confidence,
        family=family,
        method=method,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
    )
    if method in ("cp", "jeffreys", "katz") and family in ("dp", "gaussian") and not curve:
        return run("dpa_audit_counts", ctypes.byref(query), ctypes.byref(asked))
    return run_long("dpa_audit_counts", ctypes.byref(query), request=asked, keep=query)


# ── scores ────────────────────────────────────────────────────────────────────────────────────────


@mirror("dpa_scores")
class _Scores(ctypes.Structure):
    _fields_ = [
        ("member", ctypes.c_void_p),
        ("nonmember", ctypes.c_void_p),
        ("members", ctypes.c_size_t),
        ("nonmembers", ctypes.c_size_t),
        ("is_sorted", ctypes.c_int),
        ("sha256", ctypes.c_char * 65 * 2),
    ]


@mirror("dpa_scores_query")
class _ScoresQuery(ctypes.Structure):
    _fields_ = [
        ("path", ctypes.c_char_p),
        ("nonmembers_path", ctypes.c_char_p),
        ("scores", ctypes.POINTER(_Scores)),
        ("group", ctypes.c_char_p),
        ("at_epsilon", ctypes.c_double),
        ("curve", ctypes.c_int),
        ("explain", ctypes.c_int),
    ]


lib.dpa_scores_query_init.argtypes = [ctypes.POINTER(_ScoresQuery)]
lib.dpa_scores_query_init.restype = None
declare("dpa_audit_scores", ctypes.POINTER(_ScoresQuery), _REQUEST, _OUT)


def _scores_query(members: Any, nonmembers: Any, group: Optional[str]) -> tuple[_ScoresQuery, Any]:
    """The query, and what its pointers need to live."""
    query = _ScoresQuery()
    lib.dpa_scores_query_init(ctypes.byref(query))
    if group is not None:
        query.group = text("group", group)
    if is_path(members):
        query.path = path_text("members", members)
        if nonmembers is not None:
            query.nonmembers_path = path_text("nonmembers", nonmembers)
        return query, None
    if nonmembers is None:
        raise ValueError("nonmembers: needed, unless the first argument is a file that has both")
    first, second = numbers("members", members), numbers("nonmembers", nonmembers)
    given = _Scores(first.address, second.address, first.count, second.count)
    query.scores = ctypes.pointer(given)
    return query, (first, second)


def scores(
    members: Union[Values, Path],
    nonmembers: Union[Values, Path, None] = None,
    delta: float = 1e-5,
    *,
    confidence: float = 0.95,
    sides: int = 1,
    family: Optional[str] = None,
    method: Optional[str] = None,
    select: Optional[str] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    group: Optional[str] = None,
    at_epsilon: Optional[float] = None,
    curve: bool = False,
    explain: bool = False,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Report:
    """Bounds from attack scores of independent runs with (`members`) and without (`nonmembers`) the canary.

    Higher must mean "in". Numbers, or files as the command takes them. Contiguous float64 is read where it lies.

    >>> report = scores([3.1, 2.9, 3.3, 2.7] * 50, [0.2, 0.1, -0.4, 0.3] * 50, method="rank", family="gaussian")
    >>> report.results[0].epsilon_lower > 5
    True
    """
    query, keep = _scores_query(members, nonmembers, group)
    query.curve, query.explain = bool(curve), bool(explain)
    if at_epsilon is not None:
        query.at_epsilon = real("at_epsilon", at_epsilon)
    asked = request(
        sides,
        delta=delta,
        confidence=confidence,
        family=family,
        method=method,
        select=select,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        seed=seed,
        threads=threads,
    )
    return run_long("dpa_audit_scores", ctypes.byref(query), request=asked, keep=(query, keep))


# ── one run ───────────────────────────────────────────────────────────────────────────────────────


@mirror("dpa_guesses")
class _Guesses(ctypes.Structure):
    _fields_ = [("canaries", ctypes.c_uint64), ("correct", ctypes.c_void_p), ("sha256", ctypes.c_char * 65)]


@mirror("dpa_lints")
class _Lints(ctypes.Structure):
    _fields_ = [("items", ctypes.c_void_p), ("count", ctypes.c_size_t), ("capacity", ctypes.c_size_t)]


@mirror("dpa_onerun")
class _Game(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("canaries", "options", "guesses", "correct")]


@mirror("dpa_onerun_query")
class _OneRunQuery(ctypes.Structure):
    _fields_ = [
        ("game", _Game),
        ("ranked", ctypes.POINTER(_Guesses)),
        ("choice", ctypes.c_int),
        ("guesses", ctypes.c_uint64),
        ("pointwise", ctypes.c_int),
        ("claim_sigma", ctypes.c_double),
    ]


@mirror("dpa_ideal")
class _Ideal(ctypes.Structure):
    _fields_ = [("sigma", ctypes.c_double), ("canaries", ctypes.c_uint64), ("options", ctypes.c_uint64)]


lib.dpa_onerun_query_init.argtypes = [ctypes.POINTER(_OneRunQuery)]
lib.dpa_onerun_query_init.restype = None
lib.dpa_guesses_free.argtypes = [ctypes.POINTER(_Guesses)]
lib.dpa_guesses_free.restype = None
lib.dpa_lints_free.argtypes = [ctypes.POINTER(_Lints)]
lib.dpa_lints_free.restype = None
_RANKED = [ctypes.POINTER(_Guesses), ctypes.POINTER(_Lints)]
declare("dpa_guesses_from_scores", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, *_RANKED)
declare("dpa_guesses_from_confidence", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, *_RANKED)
declare("dpa_guesses_read", ctypes.c_char_p, ctypes.c_int, _RANKED[0], ctypes.POINTER(ctypes.c_int), _RANKED[1])
declare("dpa_audit_onerun", ctypes.POINTER(_OneRunQuery), _REQUEST, _OUT)
declare("dpa_audit_ideal", ctypes.POINTER(_Ideal), ctypes.c_uint64, ctypes.c_uint64, _REQUEST, ctypes.c_int, _OUT)
declare("dpa_report_lints", ctypes.c_void_p, ctypes.POINTER(_Lints))
declare("dpa_report_input", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class _Ranked:
    """Guesses of one run, most confident first, with what is odd about them; owns both."""

    def __init__(self) -> None:
        self.guesses, self.lints = _Guesses(), _Lints()

    def __del__(self) -> None:
        lib.dpa_guesses_free(ctypes.byref(self.guesses))
        lib.dpa_lints_free(ctypes.byref(self.lints))

    def _out(self) -> tuple[Any, Any]:
        return ctypes.byref(self.guesses), ctypes.byref(self.lints)

    def rank(self, scores: Values, members: Values, correct: Values, side: int) -> None:
        if (members is None) == (correct is None):
            raise ValueError("scores: need either members or correct, 0 or 1 for each score")
        values = numbers("scores", scores)
        given = flags("correct", correct) if members is None else flags("members", members)
        if values.count != given.count:
            raise ValueError(f"scores: {values.count} of them, but {given.count} answers")
        if members is None:
            call("dpa_guesses_from_confidence", values.address, given.address, values.count, *self._out())
        else:
            call("dpa_guesses_from_scores", values.address, given.address, values.count, side, *self._out())

    def read(self, path: bytes, side: int, options: int) -> None:
        membership = ctypes.c_int()
        guesses, lints = self._out()
        call("dpa_guesses_read", path, side, guesses, ctypes.byref(membership), lints)
        if membership.value and options != 2:
            raise ValueError(f"options: {options}, but a file of members has two; give score,correct")


def _choice(guesses: Any, missing: str) -> tuple[int, int]:
    word = missing if guesses is None else guesses
    if isinstance(word, str):
        return choose("guesses", word, {"auto": _AUTO, "max": _MAX}), 0
    return _FIXED, whole("guesses", word)


def one_run(
    canaries: Optional[int] = None,
    guesses: Union[int, str, None] = None,
    correct: Union[int, Values, None] = None,
    delta: float = 1e-5,
    *,
    options: int = 2,
    scores: Union[Values, Path, None] = None,
    members: Optional[Values] = None,
    side: str = "both",
    pointwise: bool = False,
    claim_sigma: Optional[float] = None,
    confidence: float = 0.95,
    family: Optional[str] = None,
    method: Optional[str] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    seed: int = 1,
) -> Report:
    """Bounds from one training run with many canaries, each put in or left out by its own coin.

    Either counts (`canaries`, `guesses`, `correct`), or `scores` with `members` (who was in), or `scores` with
    `correct` (guesses that were made already), or a file as the command takes it in `scores`. With scores, `guesses`
    is a number that was fixed before, "auto" (default: the error is split over a fixed grid) or "max" (optimistic).

    >>> report = one_run(canaries=100_000, guesses=1500, correct=1429, family="gaussian")
    >>> round(report.results[0].epsilon_lower, 6)
    3.299235
    """
    query, ranked, file = _OneRunQuery(), None, None
    lib.dpa_onerun_query_init(ctypes.byref(query))
    query.pointwise = bool(pointwise)
    query.choice, query.guesses = _choice(guesses, "auto")
    if claim_sigma is not None:
        query.claim_sigma = real("claim_sigma", claim_sigma)
    if scores is None:
        if canaries is None or correct is None or query.choice != _FIXED:
            raise ValueError("needs scores, or canaries, guesses and correct as whole numbers")
        query.game = _Game(
            whole("canaries", canaries), whole("options", options), query.guesses, whole("correct", correct)
        )
    else:
        if canaries is not None:
            raise ValueError("canaries: counted from the scores")
        ranked = _Ranked()
        query.game.options = whole("options", options)
        if isinstance(scores, (str, os.PathLike)):
            file = path_text("scores", scores)
            ranked.read(file, choose("side", side, _SIDES), query.game.options)
        else:
            ranked.rank(scores, members, correct, choose("side", side, _SIDES))
        query.ranked = ctypes.pointer(ranked.guesses)
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
    report = run_long("dpa_audit_onerun", ctypes.byref(query), request=asked, keep=(query, ranked))
    if ranked is not None:
        call("dpa_report_lints", report._handle.pointer, ctypes.byref(ranked.lints))
        if file is not None:
            call("dpa_report_input", report._handle.pointer, file, ranked.guesses.sha256)
    return report


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

    Without `guesses`: the best number of them. With `simulate` the game is also played so often.

    >>> report = one_run_ideal(sigma=1.0, canaries=10_000, family="gaussian")
    >>> best = report.ideal.rows[0]
    >>> best.guesses, best.correct, round(best.epsilon_lower, 3), round(report.ideal.true_epsilon, 3)
    (345, 323, 3.036, 4.377)
    """
    ideal = _Ideal(real("sigma", sigma), whole("canaries", canaries), whole("options", options))
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
        "dpa_audit_ideal",
        ctypes.byref(ideal),
        count,
        whole("simulate", simulate),
        ctypes.byref(asked),
        int(bool(pointwise)),
        keep=(ideal, asked),
    )


# ── cosines ───────────────────────────────────────────────────────────────────────────────────────


@mirror("dpa_cosines")
class _Cosines(ctypes.Structure):
    _fields_ = [
        ("observed", ctypes.c_void_p),
        ("observed_count", ctypes.c_size_t),
        ("unobserved", ctypes.c_void_p),
        ("unobserved_count", ctypes.c_size_t),
        ("dim", ctypes.c_size_t),
        ("direction", ctypes.c_int),
    ]


declare("dpa_audit_cosines", ctypes.POINTER(_Cosines), _REQUEST, _OUT)


def cosines(
    observed: Values,
    dim: Optional[int] = None,
    delta: float = 1e-5,
    *,
    null: Optional[Values] = None,
    direction: str = "sphere",
    confidence: float = 0.95,
    sides: int = 1,
    method: Optional[str] = None,
    select: Optional[str] = None,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    seed: int = 1,
) -> Report:
    """Estimates of ε from the cosines of canaries with a model of `dim` parameters, from one training run.

    With `null`, both are largest cosines over all rounds: `observed` of canaries that took part, `null` of ones that
    did not, and `dim` is not needed. `direction` is what the canaries were (see CanarySet).

    >>> report = cosines([0.02, 0.01, 0.03, 0.02, 0.04, 0.01, 0.02, 0.03], dim=10_000, method="mean")
    >>> round(report.results[0].epsilon, 3)  # ε between N(0, 1) and N(2.25, 1)
    11.569
    """
    if null is None and dim is None:
        raise ValueError("dim: needed, the number of the model's parameters (or null, for largest cosines)")
    first: Numbers = numbers("observed", observed)
    second: Optional[Numbers] = None if null is None else numbers("null", null)
    given = _Cosines(
        first.address,
        first.count,
        second.address if second else None,
        second.count if second else 0,
        0 if dim is None else whole("dim", dim),
        choose("direction", direction, DIRECTIONS),
    )
    asked = request(
        sides,
        delta=delta,
        confidence=confidence,
        method=method,
        select=select,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        seed=seed,
    )
    return run_long("dpa_audit_cosines", ctypes.byref(given), request=asked, keep=(given, first, second))
