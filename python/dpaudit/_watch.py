# SPDX-License-Identifier: GPL-3.0-or-later
"""`dpaudit.watch`: a battery of checks for a DP-SGD training, from inside its loop. docs/watch.md explains it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from ._account import account, calibrate
from ._library import real, whole

if TYPE_CHECKING:
    from ._watch_core import Watch

SAMPLINGS = ("poisson", "unchecked")


class Defect(AssertionError):
    """Raised by the `check` of a watch's result: the training is not as promised. Says the defects first, then ε."""


@dataclass(frozen=True)
class Promise:
    """What was promised for the whole training. `limits`: clip norms per tensor, when that is what was promised."""

    sigma: float
    clip: float
    limits: Optional[tuple[float, ...]]
    q: float
    steps: int
    delta: float
    epsilon: float  # as promised, or what σ, q and the steps give
    accounted: float  # what σ, q and the steps give
    stated: bool  # whether ε was said beside σ
    adjacency: str
    records: Optional[int]
    sampling: str
    confidence: float

    @property
    def batch(self) -> Optional[float]:
        """Expected examples in a step."""
        return None if self.records is None else self.records * self.q


def make_promise(
    sigma: Optional[float],
    epsilon: Optional[float],
    clip_norm: Union[float, Sequence[float]],
    q: Optional[float],
    steps: Optional[int],
    delta: float,
    adjacency: str,
    records: Optional[int],
    sampling: str,
    confidence: float,
) -> Promise:
    if q is None or steps is None or (sigma is None and epsilon is None):
        raise ValueError(
            "watch needs the claim of the whole training: sigma, q and steps (noise multiplier, sampling rate, number "
            "of steps), or epsilon and delta with q and steps"
        )
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling: {sampling!r} is not one of {', '.join(SAMPLINGS)}")
    if not 0.5 <= real("confidence", confidence) < 1.0:
        raise ValueError(f"confidence: {confidence} is not between 0.5 and 1")
    rate, count = real("q", q), whole("steps", steps)
    if not 0.0 < rate <= 1.0:
        raise ValueError(f"q: {q} is not a rate above 0, at most 1")
    limits = tuple(real("clip_norm", c) for c in clip_norm) if isinstance(clip_norm, (list, tuple)) else None
    clip = math.sqrt(sum(c * c for c in limits)) if limits else real("clip_norm", clip_norm)
    if not 0.0 < clip < math.inf:
        raise ValueError(f"clip_norm: {clip_norm} is not positive")
    noise: float
    if sigma is None:
        found = calibrate(real("epsilon", epsilon), delta, q=rate, steps=count, adjacency=adjacency)
        noise = float(found.sigma)
    else:
        noise = real("sigma", sigma)
    if not 0.0 < noise < math.inf:
        raise ValueError(f"sigma: {noise} is not positive: a training without noise has no claim to watch")
    accounted = float(account(noise, rate, count, delta, adjacency=adjacency).epsilon.lower)
    return Promise(
        sigma=noise,
        clip=clip,
        limits=limits,
        q=rate,
        steps=count,
        delta=real("delta", delta),
        epsilon=accounted if epsilon is None else real("epsilon", epsilon),
        accounted=accounted,
        stated=sigma is not None and epsilon is not None,
        adjacency=adjacency,
        records=None if records is None else whole("records", records),
        sampling=sampling,
        confidence=confidence,
    )


def watch(
    target: Any = None,
    *,
    clip_norm: Union[float, Sequence[float]],
    sigma: Optional[float] = None,
    epsilon: Optional[float] = None,
    q: Optional[float] = None,
    steps: Optional[int] = None,
    delta: float = 1e-5,
    records: Optional[int] = None,
    sampling: str = "poisson",
    adjacency: str = "add-remove",
    confidence: float = 0.99,
    normalizer: float = 1.0,
    names: Optional[Sequence[str]] = None,
    canaries: bool = True,
    generators: Sequence[Any] = (),
    every: Optional[int] = None,
    seed: int = 1,
) -> "Watch":
    """Watch a DP-SGD training and name what is wrong with it. The training itself is not changed.

    `target` is an optimizer in the manner of Opacus (its parameters have `grad_sample`), or a function
    `private_sum(gradients, …)` that releases a noisy sum of clipped gradients, or nothing: then `observe` is told what
    every step had and released. The claim is that of the whole training: `sigma`, `q`, `steps` (or `epsilon` at `delta`
    with `q` and `steps`) and the clip norm C. `records` is the size of the training set, needed to check q.

    Released is a sum; of a mean, say `normalizer`, the number it was divided by. `generators` are those that the
    function draws its noise from, besides the global ones of torch, numpy and random; they are left as they were.

    Arguments:
        target: what is watched.
        clip_norm: the norm C, or one for each parameter group.
        sigma: promised noise multiplier.
        epsilon: the promise as ε at delta instead, with q and steps.
        q: promised sampling rate.
        steps: promised steps.
        delta: δ of the promise.
        records: size of the training set.
        sampling: how batches are drawn: "poisson", which is checked, or "unchecked".
        adjacency: "add-remove" or "replace-one".
        confidence: of the findings.
        normalizer: what a released mean was divided by.
        names: of the parameters, for the findings.
        canaries: also ask what the target releases for gradients made to find faults, at four times of the
            training; it is left as it was.
        generators: of the noise.
        every: look at every so many steps; None: as often as is cheap.
        seed: of the canaries and checks.

    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> def private_sum(gradients):
    ...     norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    ...     clipped = gradients * np.minimum(1, 2.0 / norms)
    ...     return clipped.sum(axis=0) + rng.normal(0, 0.5 * 2.0, gradients.shape[1])  # half of the noise
    >>> watching = watch(private_sum, sigma=1.0, clip_norm=2.0, q=0.1, steps=100, generators=[rng])
    >>> for step in range(100):
    ...     released = watching(np.random.default_rng(step).normal(0, 0.5, (20, 100)))
    >>> watching.result().headline
    'Defect: the noise is 0.50 × promised...'
    """
    try:
        from ._watch_core import Watch
    except ImportError as problem:
        if getattr(problem, "name", "") != "numpy":
            raise
        raise ImportError("dpaudit.watch needs numpy (Debian: python3-numpy)") from None
    claim = make_promise(sigma, epsilon, clip_norm, q, steps, delta, adjacency, records, sampling, confidence)
    made = Watch(claim, target, normalizer, names, canaries, generators, every, seed)
    return made

