# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way to a verdict: evidence, a claim and a protocol in, a report out. The words are those of the command."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

from ._arrays import numbers
from ._library import Handle, Stop, call, call_interruptibly, declare, declare_free, free, lib, real, set_options, text, whole
from ._report import Report, free_report

Path = Union[str, "os.PathLike[str]"]
_OUT = ctypes.POINTER(ctypes.c_void_p)
_KINDS = {"counts": 0, "scores": 1, "guesses": 2, "cosines": 3}

declare("dpa_evidence_new", ctypes.c_int, _OUT)
declare("dpa_evidence_set", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
declare("dpa_evidence_copy", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
declare("dpa_evidence_scores", ctypes.c_char_p, ctypes.c_char_p, _OUT)
declare("dpa_evidence_one_run", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, _OUT)
declare("dpa_evidence_cosines", ctypes.c_char_p, ctypes.c_char_p, _OUT)
declare("dpa_evidence_read", ctypes.c_char_p, _OUT)
declare("dpa_evidence_write", ctypes.c_void_p, ctypes.c_char_p)
declare("dpa_claim_new", _OUT)
declare("dpa_claim_set", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
declare("dpa_protocol_new", _OUT)
declare("dpa_protocol_set", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
declare("dpa_protocol_read", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
declare("dpa_judge", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, _OUT)
lib.dpa_protocol_progress.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
lib.dpa_protocol_progress.restype = None
_free_evidence = declare_free("dpa_evidence_free")


def path_text(name: str, value: Path) -> bytes:
    return text(name, os.fsdecode(os.fspath(value)))


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


class Claim:
    """What was promised: (ε,δ), or the noise of a mechanism, or a trade-off curve; and about what.

    epsilon, delta: the promise as numbers. sigma, q, steps: as the noise multiplier of DP-SGD, its sampling rate and
    its steps. curve: as a file of a trade-off curve. scope: "training" (everything that was released), "step" or
    "participation". neighbours: "add-remove" or "replace-one".

    >>> Claim(sigma=1.0, q=0.01, steps=1000, delta=1e-5)
    Claim(sigma=1.0, q=0.01, steps=1000, delta=1e-05)
    """

    def __init__(
        self,
        epsilon: Optional[float] = None,
        delta: Optional[float] = None,
        *,
        sigma: Optional[float] = None,
        q: Optional[float] = None,
        steps: Optional[int] = None,
        curve: Optional[Path] = None,
        scope: Optional[str] = None,
        neighbours: Optional[str] = None,
    ) -> None:
        self._words = {
            "epsilon": epsilon,
            "sigma": sigma,
            "q": q,
            "steps": steps,
            "curve": None if curve is None else os.fsdecode(os.fspath(curve)),
            "delta": delta,
            "scope": scope,
            "neighbours": neighbours,
        }
        self._handle()  # says now what is wrong with it

    def _handle(self) -> Handle:
        handle = Handle(free)
        call("dpa_claim_new", ctypes.byref(handle.pointer))
        for name, value in self._words.items():
            set_options("dpa_claim_set", handle.pointer, **{name if name == "neighbours" else f"claim_{name}": value})
        return handle

    def said(self) -> dict[str, Any]:
        """What was promised, by the names of the arguments."""
        return {k: v for k, v in self._words.items() if v is not None}

    def __repr__(self) -> str:
        return f"Claim({', '.join(f'{k}={v!r}' for k, v in self.said().items())})"


def as_claim(claim: Union[Claim, float, None], delta: Optional[float] = None) -> Claim:
    """A number is a promised ε; `delta` is that of a number."""
    if not isinstance(claim, Claim):
        return Claim(epsilon=None if claim is None else real("claim", claim), delta=delta)
    if delta is not None:
        raise ValueError("claim_delta: say it in the claim, as Claim(..., delta=...)")
    return claim


class Evidence:
    """What was observed, and what it is: kind, scope, design, what is known of the training.

    Made by `Evidence.scores`, `.counts`, `.one_run`, `.cosines` from numbers, or by `.read` from a file that dpaudit
    wrote (which says all of it). `about` sets what plain numbers do not say: scope, q, steps, sigma, canary_rate, …

    >>> seen = Evidence.counts(fn=10, tp=90, fp=5, tn=95)
    >>> judge(seen, Claim(epsilon=1.0)).verdict.state
    'refuted'
    """

    def __init__(self, kind: str) -> None:
        self._handle = Handle(_free_evidence)
        call("dpa_evidence_new", _KINDS[kind], ctypes.byref(self._handle.pointer))

    @classmethod
    def _from(cls, reader: str, *arguments: Any) -> "Evidence":
        """What a function of the library reads from files."""
        made = cls.__new__(cls)
        made._handle = Handle(_free_evidence)
        call(reader, *arguments, ctypes.byref(made._handle.pointer))
        return made

    def _add(self, name: str, values: Any) -> None:
        given = numbers(name, values)
        call("dpa_evidence_copy", self._handle.pointer, name.encode(), given.address, given.count)

    def about(self, **facts: Any) -> "Evidence":
        """Say what the numbers are about: scope="step", q=…, steps=…, sigma=…, canary_rate=…, inclusion_rate=…

        Arguments:
            facts: the words of `dpaudit help scores`, one keyword each.
        """
        set_options("dpa_evidence_set", self._handle.pointer, **facts)
        return self

    def write(self, path: Path) -> None:
        """An .npz with the arrays and what they are, for `dpaudit scores`, `one-run`, `cosines` or `Evidence.read`.

        Arguments:
            path: where it goes.
        """
        call("dpa_evidence_write", self._handle.pointer, path_text("path", path))

    @classmethod
    def read(cls, path: Path) -> "Evidence":
        """A file that dpaudit wrote.

        Arguments:
            path: the file.
        """
        return cls._from("dpa_evidence_read", path_text("path", path))

    @classmethod
    def counts(cls, fn: int, tp: int, fp: int, tn: int) -> "Evidence":
        """The four counts of an attack on independent runs.

        Arguments:
            fn: members that the attack called non-members.
            tp: members that it called members.
            fp: non-members that it called members.
            tn: non-members that it called non-members.
        """
        made = cls("counts")
        made._add("counts", [float(fn), float(tp), float(fp), float(tn)])
        return made

    @classmethod
    def scores(cls, members: Any, nonmembers: Any = None) -> "Evidence":
        """Scores of independent runs (higher means "in"), or files as `dpaudit scores` takes them.

        Arguments:
            members: scores of runs with the record, or the file.
            nonmembers: scores of runs without it, or a second file.
        """
        if is_path(members):
            second = None if nonmembers is None else path_text("nonmembers", nonmembers)
            return cls._from("dpa_evidence_scores", path_text("members", members), second)
        if nonmembers is None:
            raise ValueError("nonmembers: needed, unless the first argument is a file that has both")
        made = cls("scores")
        made._add("members", members)
        made._add("nonmembers", nonmembers)
        return made

    @classmethod
    def cosines(cls, observed: Any, dim: Optional[int] = None, *, null: Any = None, direction: str = "sphere") -> "Evidence":
        """Cosines of canaries with a model of `dim` parameters; with `null`, largest cosines over the rounds.

        Arguments:
            observed: cosines of canaries that took part, or the file.
            dim: the number of the model's parameters.
            null: cosines of canaries that did not take part, over the rounds.
            direction: how the canaries were drawn: "sphere", "signs" or "hadamard".
        """
        if null is None and dim is None and not is_path(observed):
            raise ValueError("dim: needed, the number of the model's parameters (or null, for largest cosines)")
        if is_path(observed):
            second = None if null is None else path_text("null", null)
            made = cls._from("dpa_evidence_cosines", path_text("observed", observed), second)
        elif null is None:
            made = cls("cosines")
            made._add("final", observed)
        else:
            made = cls("cosines")
            made._add("observed", observed)
            made._add("unobserved", null)
        return made.about(design="one-run", dim=None if dim is None else whole("dim", dim), direction=direction)


def judge(
    evidence: Evidence,
    claim: Union[Claim, float, None] = None,
    *,
    protocol: Optional[Path] = None,
    delta: Optional[float] = None,
    confidence: Optional[float] = None,
    sides: int = 1,
    family: Optional[str] = None,
    method: Optional[str] = None,
    select: Optional[str] = None,
    guesses: Union[int, str, None] = None,
    decide: Optional[str] = None,
    must_detect: Optional[float] = None,
    group: Optional[str] = None,
    at_epsilon: Optional[float] = None,
    curve: bool = False,
    explain: bool = False,
    pointwise: bool = False,
    bootstrap_auc: bool = False,
    all: bool = False,
    seed: Optional[int] = None,
    threads: Optional[int] = None,
) -> Report:
    """Judge evidence by a claim (without one: by the claim that the evidence carries, if it does).

    One test decides, chosen before the numbers are looked at; everything else is shown. What is left out is chosen by
    the rule of docs/judging.md: family "dp", which assumes nothing, for an (ε,δ) claim; the claimed mechanism for a
    claim of noise. Several families or methods are joined by "+" and share the error.

    Arguments:
        evidence: what was observed.
        claim: what was promised: a `Claim`, or ε as a number.
        protocol: a file of `dpaudit plan --write-protocol`: the test registered before.
        delta: δ of the statement; 1e-5, or the claim's.
        confidence: 0.95.
        sides: 1: a lower bound; 2: an interval.
        family: what may be assumed: "dp" (nothing), "gaussian", "laplace", "subsampled-gaussian:q=Q,steps=T",
            "points:FILE", "pair:FILE[,q=Q][,steps=N]" (a dominating pair), "ledger:FILE" (DpEvent JSON).
        method: the estimator: "scan", "rank", "exact", "cp", "jeffreys", "bayes", "sequential", …
        select: the threshold: "fixed:T", "fixed-fpr:X", "split", "multi-split", "simultaneous", or "max", which is
            flagged.
        guesses: of one run: how many were guessed, "auto" (valid) or "max" (optimistic, shown only).
        decide: "confidence", or "posterior": let a posterior probability decide, and say so.
        must_detect: inconclusive unless this ε would have been detected.
        group: also a bound for every value of this column of the table.
        at_epsilon: also the least δ that this ε needs.
        curve: also the bounds at other δ.
        explain: also why the bound is what it is, and what would raise it.
        pointwise: of one run: also the pointwise baseline.
        bootstrap_auc: of scores: the AUC's interval by a bootstrap (BCa) instead of DeLong's variance.
        all: every row, not only the first six.
        seed: of everything random.
        threads: how many; None: one per core.

    >>> seen = Evidence.scores([1.2, 0.4, 2.2, 1.9] * 25, [0.1, -0.3, 0.2, 0.5] * 25)
    >>> judge(seen, Claim(epsilon=8.0), must_detect=9.0).state
    'inconclusive'
    """
    wanted = Handle(free)
    call("dpa_protocol_new", ctypes.byref(wanted.pointer))
    if sides not in (1, 2):
        raise ValueError(f"sides: {sides!r} is not 1 or 2")
    set_options(
        "dpa_protocol_set", wanted.pointer, delta=delta, confidence=confidence, family=family, method=method,
        select=select, guesses=guesses, decide=decide, must_detect=must_detect, group=group, at_epsilon=at_epsilon,
        seed=seed, threads=threads,
    )  # fmt: skip
    flags = {"curve": curve, "explain": explain, "pointwise": pointwise, "bootstrap-auc": bootstrap_auc, "all": all,
             "two-sided": sides == 2}  # fmt: skip
    for name, is_set in flags.items():
        if is_set:
            call("dpa_protocol_set", wanted.pointer, name.encode(), None)
    promised = as_claim(claim)._handle()
    if protocol is not None:
        call("dpa_protocol_read", wanted.pointer, promised.pointer, path_text("protocol", protocol))
    made, stop = Handle(free_report), Stop()
    lib.dpa_protocol_progress(wanted.pointer, stop.pointer)
    call_interruptibly(
        stop,
        (evidence, promised, wanted, made),
        "dpa_judge",
        evidence._handle.pointer,
        promised.pointer,
        wanted.pointer,
        ctypes.byref(made.pointer),
    )
    return Report(made)
