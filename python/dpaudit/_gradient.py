# SPDX-License-Identifier: GPL-3.0-or-later
"""A white-box audit from inside a DP-SGD loop: one gradient that should be hard to see (tight-auditing, Algorithm 2).

A canary gradient g′ of the clipping norm C takes part in a step. What the step releases, the noisy sum S of clipped
gradients, is projected on it: ⟨g′, S⟩/C². Other gradients are nearly orthogonal to g′, so this is N(1, σ²) with the
canary and N(0, σ²) without it, σ being the noise multiplier. Each step gives one number of each kind; how well they can
be told apart bounds the privacy of a step from below, and through the accountant that of the training.
"""

from __future__ import annotations

import ctypes
import math
from array import array
from typing import Any, Optional, Union

from ._account import account
from ._arrays import Numbers, empty, numbers, numpy, writable
from ._audit import scores
from ._canaries import CanarySet
from ._judge import Claim
from ._library import layout, lib, real, whole
from ._report import Report

_KINDS = ("dirac", "constant", "random")
_PURPOSE_CANARY = 1  # DPA_PURPOSE_CANARY of rng.h
_DECOY = 1 << 40  # canaries that are never put in have steps from here on

lib.dpa_rng_init.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64]
lib.dpa_rng_init.restype = None
lib.dpa_rng_below.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
lib.dpa_rng_below.restype = ctypes.c_uint64
lib.dpa_rng_u32.argtypes = [ctypes.c_void_p]
lib.dpa_rng_u32.restype = ctypes.c_uint32
_RNG_SIZE = layout("dpa_rng")[1]


class GradientCanary:
    """A gradient canary for a DP-SGD loop over `dim` parameters with clipping norm `clip_norm`.

    kind: "dirac" (one coordinate; the strongest), "constant" (all coordinates ±1/√dim, signs at random) or "random" (a
    random direction). A moving canary is drawn anew for every step.

    >>> import random
    >>> canary, noise = GradientCanary(dim=50, clip_norm=2.0, seed=3), random.Random(2)
    >>> for step in range(400):
    ...     gradient = canary.gradient(step)
    ...     private_sum = [g + noise.gauss(0, 2.0 * 1.0) for g in gradient]  # noise multiplier 1
    ...     canary.observe(private_sum)
    >>> claim = account(sigma=1.0)                # what noise multiplier 1 promises for one step
    >>> canary.result(claim, confidence=0.99).check().refuted
    False
    >>> canary.result(account(sigma=2.0), confidence=0.99).refuted  # a wrong promise
    True
    """

    def __init__(
        self, dim: int, clip_norm: float, kind: str = "dirac", moving: bool = True, seed: int = 1
    ) -> None:
        self.dim, self.clip_norm = whole("dim", dim), real("clip_norm", clip_norm)
        if kind not in _KINDS:
            raise ValueError(f"kind: {kind!r} is not one of {', '.join(_KINDS)}")
        if self.dim < 2:
            raise ValueError(f"dim: needs 2 or more, not {dim}")
        if not 0.0 < self.clip_norm < math.inf:
            raise ValueError(f"clip_norm: must be positive, not {clip_norm}")
        self.kind, self.moving, self.seed = kind, bool(moving), whole("seed", seed)
        self._step = 0
        self._members, self._nonmembers = array("d"), array("d")

    def __repr__(self) -> str:
        return f"<dpaudit.GradientCanary dim={self.dim} kind={self.kind} observations={len(self._members)}>"

    def gradient(self, step: int) -> Any:
        """The canary of this step, of norm `clip_norm`: to be added as if it were one more example's gradient."""
        self._step = whole("step", step)
        if self._step >= _DECOY:
            raise ValueError(f"step: {step} is not below 2^40")
        return self._make(self._step if self.moving else 0)

    def observe(self, private_sum: Any, without: Any = None) -> None:
        """Take in what a step released: the noisy sum of clipped gradients, this step's canary among them.

        `without` is what the same step gives without the canary, with noise of its own: the white-box game as it is
        defined. When it is left out, the sum is projected on a second canary, drawn in the same way and never put in:
        one sum a step is then enough, but noise that differs between directions goes unseen.
        """
        step = self._step if self.moving else 0
        member = self._project("private_sum", private_sum, step)
        if without is None:
            nonmember = self._project("private_sum", private_sum, _DECOY + self._step)
        else:
            nonmember = self._project("without", without, step)
        self._members.append(member)
        self._nonmembers.append(nonmember)

    @property
    def observations(self) -> tuple[array[float], array[float]]:
        """Projections so far, with the canary and without, scaled to means 1 and 0."""
        return self._members[:], self._nonmembers[:]

    def result(
        self,
        claim: Union[float, Report, None] = None,
        *,
        delta: float = 1e-5,
        confidence: float = 0.95,
        family: Optional[str] = "gaussian",
        method: Optional[str] = "rank",
        select: Optional[str] = None,
        seed: int = 1,
        explain: bool = False,
    ) -> Report:
        """A bound for one step that has the canary in it.

        `claim` is the promise for such a step: a number is its ε at `delta`, or the report of `account(sigma=…)`.
        """
        promised: Optional[float] = None if claim is None else real("claim", _epsilon(claim))
        if isinstance(claim, Report):
            delta = claim.delta
        return scores(
            self._members,
            self._nonmembers,
            delta,
            confidence=confidence,
            family=family,
            method=method,
            select=select,
            claim=None if promised is None else Claim(promised, scope="step"),
            scope="step",
            seed=seed,
            explain=explain,
        )

    def end_to_end(self, q: float, steps: int, *, delta: float = 1e-5, confidence: float = 0.95) -> Report:
        """The whole training from one step: the largest noise multiplier that the steps allow, through the accountant.

        `epsilon.lower` is a lower bound on ε of `steps` steps at sampling rate `q`, at the confidence given, for a
        mechanism that adds the same Gaussian noise in every step.
        """
        bound = self.result(delta=delta, confidence=confidence).results[0]
        if not bound.parameter.lower > 0.0:
            raise ValueError("nothing was shown about a step, so nothing can be composed")
        return account(sigma=math.nextafter(1.0 / bound.parameter.lower, math.inf), q=q, steps=steps, delta=delta)

    # ── the canary ────────────────────────────────────────────────────────────────────────────────

    def _stream(self, step: int) -> Any:
        rng = ctypes.create_string_buffer(_RNG_SIZE)
        lib.dpa_rng_init(rng, self.seed, _PURPOSE_CANARY, step)
        return rng

    def _index(self, step: int) -> int:
        """Where a Dirac canary is not zero. A decoy avoids the place of the canary that was put in."""
        if step < _DECOY:
            return int(lib.dpa_rng_below(self._stream(step), self.dim))
        taken = self._index(step - _DECOY if self.moving else 0)
        other = int(lib.dpa_rng_below(self._stream(step), self.dim - 1))
        return other + (other >= taken)

    def _make(self, step: int) -> Any:
        if self.kind == "random":
            return CanarySet(self.dim, 1, self.seed, first=step, threads=1).vector(0, self.clip_norm)
        made = empty(self.dim)
        if self.kind == "dirac":
            made[self._index(step)] = self.clip_norm
            return made
        size, rng = self.clip_norm / math.sqrt(self.dim), self._stream(step)
        bits = 0
        for i in range(self.dim):
            bits = bits >> 1 if i % 32 else lib.dpa_rng_u32(rng)
            made[i] = size if bits & 1 else -size
        return made

    def _project(self, name: str, private_sum: Any, step: int) -> float:
        """⟨g′, S⟩/C²."""
        values = numbers(name, private_sum, kinds="fd", flat=True)
        if values.count != self.dim:
            raise ValueError(f"{name}: {values.count} numbers, but the canary has dimension {self.dim}")
        if self.kind == "dirac":
            product = self.clip_norm * _element(values, self._index(step))
        else:
            product = _dot(values, writable("canary", self._make(step)))
        projection = product / self.clip_norm / self.clip_norm
        if not math.isfinite(projection):
            raise ValueError(f"{name}: has numbers that are not finite (or the sum overflows)")
        return projection


def _epsilon(claim: Union[float, Report]) -> Any:
    return claim.epsilon.upper if isinstance(claim, Report) else claim


def _typed(values: Numbers) -> Any:
    kind = ctypes.c_float if values.kind == "f" else ctypes.c_double
    return (kind * values.count).from_address(values.address)


def _element(values: Numbers, index: int) -> float:
    return float(_typed(values)[index])


def _dot(values: Numbers, canary: Numbers) -> float:
    np = numpy()
    if np is None:
        return math.fsum(x * y for x, y in zip(_typed(values), _typed(canary)))
    given = np.frombuffer(_typed(values), dtype="f4" if values.kind == "f" else "f8").astype("f8")
    return float(given @ np.frombuffer(_typed(canary), dtype="f8"))
