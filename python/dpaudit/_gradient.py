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

from ._account import account, calibrate
from ._arrays import Numbers, empty, numbers, numpy, writable
from ._audit import scores
from ._canaries import CanarySet
from ._judge import Claim
from ._library import lib, real, whole
from ._report import Record, Refuted, Report

_KINDS = ("dirac", "constant", "random")
_PURPOSE_CANARY = 1  # DPA_PURPOSE_CANARY of rng.h
_DECOY = 1 << 40  # canaries that are never put in have steps from here on

lib.dpa__rng_init.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64]
lib.dpa__rng_init.restype = None
lib.dpa__rng_below.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
lib.dpa__rng_below.restype = ctypes.c_uint64
lib.dpa__rng_u32.argtypes = [ctypes.c_void_p]
lib.dpa__rng_u32.restype = ctypes.c_uint32
lib.dpa__rng_size.restype = ctypes.c_size_t
_RNG_SIZE = lib.dpa__rng_size()


class Observed:
    """Scores of steps with a canary and without it, and the bounds that they give."""

    def __init__(self) -> None:
        self._members, self._nonmembers = array("d"), array("d")

    @property
    def observations(self) -> tuple[array[float], array[float]]:
        """Scores so far, with the canary and without."""
        return self._members[:], self._nonmembers[:]

    def result(
        self,
        claim: Union[float, Report, Claim, None] = None,
        *,
        scope: Optional[str] = None,
        sigma: Optional[float] = None,
        q: Optional[float] = None,
        steps: Optional[int] = None,
        delta: float = 1e-5,
        confidence: float = 0.95,
        family: Optional[str] = "gaussian",
        method: Optional[str] = "rank",
        select: Optional[str] = None,
        seed: int = 1,
        explain: bool = False,
    ) -> Report:
        """A bound for one step that has the canary in it, against a claim whose scope is said.

        The claim is `sigma`, the noise multiplier (of one step, or of a training with `q` and `steps`: its steps have the
        same noise); or `claim`, an ε at `delta` (or the report of `account`), with `scope="step"`; or such a `claim` of
        the whole training, with `scope="training"`, `q` and `steps`, from which the accountant finds the noise. A
        `dpaudit.Claim` with its scope does as well.
        """
        if isinstance(claim, Report):
            delta = claim.delta
        return scores(
            self._members[:],  # copies: a failure whose traceback is kept must not hold the arrays that observe() grows
            self._nonmembers[:],
            delta,
            confidence=confidence,
            family=family,
            method=method,
            select=select,
            claim=_step_claim(claim, scope, sigma, q, steps, delta),
            scope="step",
            seed=seed,
            explain=explain,
        )

    def end_to_end(
        self,
        q: float,
        steps: int,
        claim: Union[float, Report, None] = None,
        *,
        sigma: Optional[float] = None,
        delta: float = 1e-5,
        confidence: float = 0.95,
    ) -> "EndToEnd":
        """The whole training from one step: the largest noise multiplier that the steps allow, through the accountant.

        Gives a lower bound on ε of `steps` steps at sampling rate `q`, at the confidence given, for a mechanism that adds
        the same Gaussian noise in every step. With a claim of the whole training (`claim`: its ε; or `sigma`) it also
        says whether the steps refute it, and `check()` fails when they do.
        """
        if isinstance(claim, Report):
            delta = claim.delta
        scope = "training" if claim is not None else None
        step = self.result(claim, scope=scope, sigma=sigma, q=q, steps=steps, delta=delta, confidence=confidence)
        promised = None if claim is None else real("claim", _epsilon(claim))
        if sigma is not None:
            promised = float(account(sigma, q, steps, delta).epsilon.upper)
        largest = step.results[0].parameter.lower
        lower = 0.0
        if largest > 0.0:
            lower = float(account(math.nextafter(1.0 / largest, math.inf), q, steps, delta).epsilon.lower)
        return EndToEnd(step, lower, promised, delta, confidence)


class GradientCanary(Observed):
    """A gradient canary for a DP-SGD loop over `dim` parameters with clipping norm `clip_norm`.

    kind: "dirac" (one coordinate; the strongest), "constant" (all coordinates ±1/√dim, signs at random) or "random" (a
    random direction). A moving canary is drawn anew for every step. `dim` may be a list of tensors (or of their
    shapes): the canary is then a list of arrays of these shapes, and so may be what a step releases.

    >>> import random
    >>> canary, noise = GradientCanary(dim=50, clip_norm=2.0, seed=3), random.Random(2)
    >>> for step in range(400):
    ...     gradient = canary.gradient(step)
    ...     private_sum = [g + noise.gauss(0, 2.0 * 1.0) for g in gradient]  # noise multiplier 1
    ...     canary.observe(private_sum)
    >>> canary.result(sigma=1.0, confidence=0.99).check().refuted  # noise multiplier 1 was promised
    False
    >>> canary.result(sigma=2.0, confidence=0.99).refuted  # a wrong promise
    True
    >>> canary.end_to_end(q=0.01, steps=1000, sigma=2.0, confidence=0.99).refuted
    True
    """

    def __init__(
        self, dim: Any, clip_norm: float, kind: str = "dirac", moving: bool = True, seed: int = 1
    ) -> None:
        self._shapes = None if isinstance(dim, (int, float, str)) or not hasattr(dim, "__iter__") else _shapes(dim)
        count = dim if self._shapes is None else sum(math.prod(shape) for shape in self._shapes)
        self.dim, self.clip_norm = whole("dim", count), real("clip_norm", clip_norm)
        if kind not in _KINDS:
            raise ValueError(f"kind: {kind!r} is not one of {', '.join(_KINDS)}")
        if self.dim < 2:
            raise ValueError(f"dim: needs 2 or more, not {self.dim}")
        if not 0.0 < self.clip_norm < math.inf:
            raise ValueError(f"clip_norm: must be positive, not {clip_norm}")
        self.kind, self.moving, self.seed = kind, bool(moving), whole("seed", seed)
        super().__init__()
        self._step = 0

    def __repr__(self) -> str:
        return f"<dpaudit.GradientCanary dim={self.dim} kind={self.kind} observations={len(self._members)}>"

    def gradient(self, step: int) -> Any:
        """The canary of this step, of norm `clip_norm`: to be added as if it were one more example's gradient."""
        self._step = whole("step", step)
        if self._step >= _DECOY:
            raise ValueError(f"step: {step} is not below 2^40")
        made = self._make(self._step if self.moving else 0)
        return made if self._shapes is None else _split(made, self._shapes)

    def observe(self, private_sum: Any, without: Any = None) -> None:
        """Take in what a step released: the noisy sum of clipped gradients, this step's canary among them.

        `without` is what the same step gives without the canary, with noise of its own: the white-box game as it is
        defined. When it is left out, the sum is projected on a second canary, drawn in the same way and never put in:
        one sum a step is then enough, but noise that differs between directions goes unseen. A list of tensors, one
        per parameter, is taken in that order.

        Arguments:
            private_sum: what was released: an array, or a list of tensors.
            without: the same from a step without the canary.
        """
        step = self._step if self.moving else 0
        member = self._project("private_sum", private_sum, step)
        if without is None:
            nonmember = self._project("private_sum", private_sum, _DECOY + self._step)
        else:
            nonmember = self._project("without", without, step)
        self._members.append(member)
        self._nonmembers.append(nonmember)

    # ── the canary ────────────────────────────────────────────────────────────────────────────────

    def _stream(self, step: int) -> Any:
        rng = ctypes.create_string_buffer(_RNG_SIZE)
        lib.dpa__rng_init(rng, self.seed, _PURPOSE_CANARY, step)
        return rng

    def _index(self, step: int) -> int:
        """Where a Dirac canary is not zero. A decoy avoids the place of the canary that was put in."""
        if step < _DECOY:
            return int(lib.dpa__rng_below(self._stream(step), self.dim))
        taken = self._index(step - _DECOY if self.moving else 0)
        other = int(lib.dpa__rng_below(self._stream(step), self.dim - 1))
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
            bits = bits >> 1 if i % 32 else lib.dpa__rng_u32(rng)
            made[i] = size if bits & 1 else -size
        return made

    def _project(self, name: str, private_sum: Any, step: int) -> float:
        """⟨g′, S⟩/C²."""
        index = self._index(step) if self.kind == "dirac" else -1
        product, at = 0.0, 0
        canary = None if self.kind == "dirac" else writable("canary", self._make(step))
        for part in _parts(private_sum):
            values = numbers(name, part, kinds="fd", flat=True)
            if canary is not None and at + values.count <= self.dim:
                product += _dot(values, canary, at)
            elif at <= index < at + values.count:
                product = self.clip_norm * _element(values, index - at)
            at += values.count
        if at != self.dim:
            raise ValueError(f"{name}: {at} numbers, but the canary has dimension {self.dim}")
        projection = product / self.clip_norm / self.clip_norm
        if not math.isfinite(projection):
            raise ValueError(f"{name}: has numbers that are not finite (or the sum overflows)")
        return projection


class EndToEnd:
    """A lower bound on ε of a whole training, from its steps, and the verdict on a claim of the whole training.

    `epsilon.lower` is the bound, `epsilon.upper` is inf: a bound from below says nothing about how private the training is.
    """

    def __init__(self, step: Report, lower: float, claim: Optional[float], delta: float, confidence: float) -> None:
        self.step, self.delta, self.confidence, self.claim = step, delta, confidence, claim
        self.epsilon = Record({"lower": lower, "upper": None, "upper_infinite": True})

    @property
    def refuted(self) -> bool:
        """Do the steps refute the claim? It is tested as the noise that the claim needs, on one step."""
        return self.claim is not None and self.step.refuted

    @property
    def headline(self) -> str:
        said = f"with {100 * self.confidence:g}% confidence, if every step adds the same Gaussian noise"
        if self.epsilon.lower > 0.0:
            bound = f"The whole training leaks at least ε = {self.epsilon.lower:.4f} at δ = {self.delta:g} {said}."
        else:
            bound = f"Nothing was shown about the whole training ({said})."
        if self.claim is None:
            return bound
        end = "is REFUTED" if self.refuted else "is not refuted, which does not prove it"
        return f"{bound} The claim ε ≤ {self.claim:g} {end}."

    def check(self) -> "EndToEnd":
        """Raise `Refuted` when the claim is refuted, for use in tests; else give the bound back."""
        if self.refuted:
            raise Refuted(self.headline)
        return self

    def to_dict(self) -> dict[str, Any]:
        return {
            "headline": self.headline,
            "epsilon": self.epsilon.to_dict(),
            "claim": self.claim,
            "delta": self.delta,
            "confidence": self.confidence,
            "refuted": self.refuted,
            "step": self.step.to_dict(),
        }

    def __repr__(self) -> str:
        return f"<dpaudit.EndToEnd {self.headline}>"

    def __str__(self) -> str:
        return self.headline


def _epsilon(claim: Any) -> Any:
    return claim.epsilon.upper if isinstance(claim, Report) else claim


def _step_claim(
    claim: Union[float, Report, Claim, None],
    scope: Optional[str],
    sigma: Optional[float],
    q: Optional[float],
    steps: Optional[int],
    delta: float,
) -> Optional[Claim]:
    """What a claim of a step or of the whole training promises for one step with the canary in it."""
    if scope not in (None, "step", "training"):
        raise ValueError(f"scope: {scope!r} is not step or training")
    if isinstance(claim, Claim):
        said: dict[str, Any] = {name: value for name, value in claim._words.items() if value is not None}
        scope, sigma = said.get("scope", scope), said.get("sigma", sigma)
        q, steps, claim = said.get("q", q), said.get("steps", steps), said.get("epsilon")
    if sigma is not None:
        if claim is not None:
            raise ValueError("claim and sigma: say one of them")
        return Claim(sigma=real("sigma", sigma), delta=delta, scope="step")
    if claim is None:
        return None
    promised = real("claim", _epsilon(claim))
    if scope is None:
        raise ValueError(
            f"claim: ε = {promised:g} of what? Say scope='step' for one step that has the canary in it, or "
            "scope='training' with q and steps for the whole training, or sigma= for the noise multiplier"
        )
    if scope == "step":
        return Claim(promised, delta, scope="step")
    if q is None or steps is None:
        raise ValueError("claim: ε of the whole training needs q (the sampling rate) and steps, to know a step's noise")
    noise = calibrate(promised, delta, q=q, steps=steps).sigma
    return Claim(sigma=noise, delta=delta, scope="step")


def _shapes(given: Any) -> list[tuple[int, ...]]:
    """Shapes of a list of tensors, or the shapes themselves."""
    found = [tuple(getattr(item, "shape", item)) for item in given]
    return [tuple(whole("dim", length) for length in shape) for shape in found]


def _split(flat: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    made, at = [], 0
    for shape in shapes:
        piece = flat[at : at + math.prod(shape)]
        made.append(piece.reshape(shape) if hasattr(piece, "reshape") else piece)
        at += math.prod(shape)
    return made


def _parts(private_sum: Any) -> list[Any]:
    """A list of tensors as it is; anything else as one part."""
    if isinstance(private_sum, (list, tuple)) and private_sum and hasattr(private_sum[0], "shape"):
        if len(private_sum[0].shape) > 0:
            return list(private_sum)
    return [private_sum]


def _typed(values: Numbers) -> Any:
    kind = ctypes.c_float if values.kind == "f" else ctypes.c_double
    return (kind * values.count).from_address(values.address)


def _element(values: Numbers, index: int) -> float:
    return float(_typed(values)[index])


def _dot(values: Numbers, canary: Numbers, at: int) -> float:
    """⟨values, canary[at:]⟩ over as many as there are values."""
    np = numpy()
    if np is None:
        return math.fsum(x * y for x, y in zip(_typed(values), _typed(canary)[at : at + values.count]))
    given = np.frombuffer(_typed(values), dtype="f4" if values.kind == "f" else "f8").astype("f8")
    return float(given @ np.frombuffer(_typed(canary), dtype="f8")[at : at + values.count])
