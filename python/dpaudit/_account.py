# SPDX-License-Identifier: GPL-3.0-or-later
"""What a claim means: Account, account, calibrate, two_gaussians."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._library import Handle, Query, call, choose, declare, declare_free, lib, real, whole
from ._report import Report, run, run_long

_MECHANISMS = {"gaussian": 0, "laplace": 1, "randomized-response": 2, "shuffled": 4}
_PAIR = 3
_ADJACENCIES = {"add-remove": 0, "replace-one": 1}
_FINDS = {"sigma": 0, "q": 1, "steps": 2}
_OUT = ctypes.POINTER(ctypes.c_void_p)

Phases = Iterable[Tuple[float, float, int]]
Path = Union[str, "os.PathLike[str]"]
Pair = Union[Path, Tuple[Sequence[float], Sequence[float]]]


class Interval(NamedTuple):
    """Two numbers with the truth between them."""

    lower: float
    upper: float


_free_account = declare_free("dpa_account_free")
_free_pair = declare_free("dpa_pair_free")
_free_ledger = declare_free("dpa_ledger_free")
_LIST = ctypes.POINTER(ctypes.c_double)
declare(
    "dpa__account_query_phase",
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_double,
    ctypes.c_double,
    ctypes.c_uint64,
    ctypes.c_void_p,
)
declare("dpa__account_query_ledger", ctypes.c_void_p, ctypes.c_void_p)
lib.dpa__account_query_tolerance.argtypes = [ctypes.c_void_p, ctypes.c_double]
lib.dpa__account_query_tolerance.restype = None
declare("dpa__account_open", ctypes.c_void_p, _OUT)
declare("dpa__account_ask", ctypes.c_void_p, ctypes.c_char_p, _LIST, ctypes.c_size_t, _LIST, _LIST)
declare("dpa_pair_new", _LIST, _LIST, ctypes.c_size_t, _OUT)
declare("dpa_pair_read", ctypes.c_char_p, _OUT)
declare("dpa_ledger_read", ctypes.c_char_p, ctypes.c_int, _OUT)
declare("dpa__audit_account", ctypes.c_void_p, _OUT)
declare("dpa__audit_calibrate", ctypes.c_void_p, ctypes.c_int, _OUT)
declare("dpa__audit_two_gaussians", *[ctypes.c_double] * 5, _OUT)


def _numbers(name: str, values: Iterable[Any]) -> Any:
    """A C array of doubles."""
    listed = [real(name, value) for value in values]
    return (ctypes.c_double * len(listed))(*listed)


def _pair(pair: Pair) -> Handle:
    handle = Handle(_free_pair)
    if isinstance(pair, (str, os.PathLike)):
        call("dpa_pair_read", os.fsencode(pair), ctypes.byref(handle.pointer))
        return handle
    p, q = (_numbers(name, values) for name, values in zip("pq", pair))
    if len(p) != len(q):
        raise ValueError(f"pair: p has {len(p)} outcomes and q {len(q)}")
    call("dpa_pair_new", p, q, len(p), ctypes.byref(handle.pointer))
    return handle


class _Claim:
    """The phases of a mechanism and the options of its account, with all that they point to."""

    def __init__(
        self,
        sigma: Optional[float],
        q: float,
        steps: int,
        delta: float,
        mechanism: str = "gaussian",
        adjacency: str = "add-remove",
        phases: Optional[Phases] = None,
        tolerance: Optional[float] = None,
        pair: Optional[Pair] = None,
        ledger: Optional[Path] = None,
        group: int = 1,
    ):
        kind = choose("mechanism", mechanism, _MECHANISMS)
        side = choose("adjacency", adjacency, _ADJACENCIES)
        self.keep: List[Handle] = []
        self.query = Query("account", adjacency=adjacency, delta=real("delta", delta), group=whole("group", group))
        if tolerance is not None:
            lib.dpa__account_query_tolerance(self.query.pointer, real("tolerance", tolerance))
        if pair is not None:
            self.keep.append(_pair(pair))
            self._add(_PAIR, 1.0, q, steps, self.keep[-1].pointer)
        elif sigma is not None:
            self._add(kind, sigma, q, steps)
        rows = list(phases or ())
        for row in rows:
            self._add(kind, *row)
        if ledger is not None:
            self.keep.append(Handle(_free_ledger))
            call("dpa_ledger_read", os.fsencode(ledger), side, ctypes.byref(self.keep[-1].pointer))
            call("dpa__account_query_ledger", self.query.pointer, self.keep[-1].pointer)
        elif sigma is None and pair is None and not rows:
            raise ValueError("needs sigma, a pair, a ledger, or phases as (sigma, q, steps)")

    def _add(self, kind: int, sigma: Any, q: Any, steps: Any, pair: Any = None) -> None:
        numbers = (real("sigma", sigma), real("q", q), whole("steps", steps))
        call("dpa__account_query_phase", self.query.pointer, kind, *numbers, pair)


class Account:
    """A composed mechanism to be asked again and again: ε(δ), δ(ε) and the best attack's TPR, as certified intervals.

    `delta` is where ε is as narrow as `tolerance` says (0.1%). Questions may be lists: a thousand cost little more
    than ten. `pair` is a file or two lists of masses, `ledger` a file of events, `group` a number of records.

    Arguments:
        sigma: noise multiplier: standard deviation over the clipping norm (of Laplace: scale; of randomized
            response: ε₀).
        q: sampling rate.
        steps: how many steps.
        delta: δ that ε is wanted at.
        how: mechanism, adjacency, phases, tolerance, pair, ledger, group: as for `account`.

    >>> claim = Account(sigma=1.0, q=0.01, steps=1000)
    >>> round(claim.epsilon(1e-5).upper, 2), len(claim.epsilon([1e-3, 1e-5, 1e-7]))
    (1.83, 3)
    """

    def __init__(
        self,
        sigma: Optional[float] = None,
        q: float = 1.0,
        steps: int = 1,
        delta: float = 1e-5,
        **how: Any,
    ):
        self._claim = _Claim(sigma, q, steps, delta, **how)
        self._handle = Handle(_free_account)
        call("dpa__account_open", self._claim.query.pointer, ctypes.byref(self._handle.pointer))

    def _ask(self, what: bytes, word: str, at: Any) -> Any:
        single = not hasattr(at, "__iter__")
        values = _numbers(word, [at] if single else at)
        lower, upper = type(values)(), type(values)()
        call("dpa__account_ask", self._handle.pointer, what, values, len(values), lower, upper)
        answers = [Interval(*ends) for ends in zip(lower, upper)]
        return answers[0] if single else answers

    def epsilon(self, delta: Any) -> Any:
        """ε at a δ, or a list of them at a list of δ.

        Arguments:
            delta: a number or a list.
        """
        return self._ask(b"epsilon", "delta", delta)

    def delta(self, epsilon: Any) -> Any:
        """δ at an ε, or a list of them at a list of ε.

        Arguments:
            epsilon: a number or a list.
        """
        return self._ask(b"delta", "epsilon", epsilon)

    def tpr(self, fpr: float) -> Interval:
        """The best attack's true positive rate at a false positive rate.

        Arguments:
            fpr: the attack's false positive rate.
        """
        fnr = self._ask(b"fnr", "fpr", real("fpr", fpr))
        return Interval(1 - fnr.upper, 1 - fnr.lower)


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
    pair: Optional[Pair] = None,
    ledger: Optional[Path] = None,
    group: int = 1,
    check: Optional[float] = None,
) -> Report:
    """ε at δ of a mechanism, as an interval that contains the truth.

    `phases` adds parts of a training run as (sigma, q, steps). `pair` is a dominating pair (a file, or two lists of
    masses), `ledger` a file of events. With `epsilon` also δ at that ε, with `fpr` also the power of the best attack
    there, with `points` also the trade-off curve, with `check` also on which side another accountant's ε lies. To ask
    more than once, see `Account`.

    Arguments:
        sigma: noise multiplier: standard deviation over the clipping norm (of Laplace: scale; of randomized
            response: ε₀).
        q: sampling rate.
        steps: how many steps.
        delta: δ that ε is wanted at.
        mechanism: "gaussian", "laplace", "randomized-response" or "shuffled".
        adjacency: which data sets are neighbours: "add-remove" or "replace-one".
        phases: further parts of the training as (sigma, q, steps).
        tolerance: largest relative width of the interval for ε (1e-3).
        pair: instead of sigma: a dominating pair, a file or two lists of masses.
        ledger: a file of events (JSON, DpEvent classes).
        group: ε of this many records together.
        epsilon: also δ at this ε.
        fpr: also the best attack's power at this false positive rate.
        points: also the trade-off curve at so many rates.
        check: also on which side of the interval another accountant's ε lies.

    >>> claim = account(sigma=1.0, q=0.01, steps=1000, delta=1e-5)
    >>> round(claim.epsilon.lower, 2), round(claim.epsilon.upper, 2)
    (1.83, 1.83)
    """
    claim = _Claim(sigma, q, steps, delta, mechanism, adjacency, phases, tolerance, pair, ledger, group)
    also = {"epsilon": epsilon, "fpr": fpr, "check": check}
    claim.query.set(**{name: real(name, value) for name, value in also.items() if value is not None})
    claim.query.set(points=whole("points", points))
    return run_long("dpa__audit_account", claim.query.pointer, keep=claim)


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
    pair: Optional[Pair] = None,
    ledger: Optional[Path] = None,
    group: int = 1,
) -> Report:
    """The noise (or, with `find`, the rate or the steps) that meets a target ε, rounded to the safe side.

    Arguments:
        epsilon: the target.
        delta: its δ.
        find: what is looked for: "sigma", "q" or "steps"; the others are given.
        sigma: noise multiplier: standard deviation over the clipping norm (of Laplace: scale; of randomized
            response: ε₀).
        q: sampling rate.
        steps: how many steps.
        mechanism: "gaussian", "laplace", "randomized-response" or "shuffled".
        adjacency: which data sets are neighbours: "add-remove" or "replace-one".
        phases: further parts of the training as (sigma, q, steps).
        tolerance: largest relative width of the interval for ε (1e-3).
        pair: instead of sigma: a dominating pair, a file or two lists of masses.
        ledger: a file of events (JSON, DpEvent classes).
        group: ε of this many records together.

    >>> found = calibrate(epsilon=2.0, q=0.01, steps=1000)
    >>> found.epsilon.upper <= 2.0
    True
    """
    own = None if ledger is not None else sigma
    claim = _Claim(own, q, steps, delta, mechanism, adjacency, phases, tolerance, pair, ledger, group)
    claim.query.set(epsilon=real("epsilon", epsilon))
    return run_long("dpa__audit_calibrate", claim.query.pointer, choose("find", find, _FINDS), keep=claim)


def two_gaussians(mu1: float, s1: float, mu2: float, s2: float, delta: float = 1e-5) -> Report:
    """The exact ε between N(mu1, s1²) and N(mu2, s2²), the larger of both directions.

    Arguments:
        mu1: mean of the first.
        s1: its standard deviation.
        mu2: mean of the second.
        s2: its standard deviation.
        delta: δ that ε is wanted at.

    >>> round(two_gaussians(0, 1, 1, 1).epsilon.upper, 6)
    4.377178
    """
    numbers = {"mu1": mu1, "s1": s1, "mu2": mu2, "s2": s2, "delta": delta}
    return run("dpa__audit_two_gaussians", *[real(name, value) for name, value in numbers.items()])
