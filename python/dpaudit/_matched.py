# SPDX-License-Identifier: GPL-3.0-or-later
"""Canaries that are examples, seen through a matched filter (docs/games.md, "Matched filter", has it as a game).

A private sum over Poisson batches has the mean q·Σgᵢ and the covariance M = σ²C²·I + q(1−q)·Σgᵢgᵢᵀ, gᵢ the clipped
gradients of the training set. The best linear test for a canary of gradient g′ projects on w = M⁻¹g′. Both are learned
from K examples, scaled by records/K; with G [K × weights] of their gradients Woodbury's identity gives
M⁻¹g = (g − Gᵀ(λI + GGᵀ)⁻¹Gg)/(σ²C²), λ = σ²C²·K/(q(1−q)·records).
"""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

from ._gradient import Observed
from ._library import real, whole


def _flat(name: str, given: Any, examples: bool) -> Any:
    """Arrays of any framework, one or one per parameter, as [weights] or [examples × weights]."""
    import numpy as np

    from . import _watch_arrays as arrays

    made = []
    for part in arrays.parts(name, given):
        values = part.double().cpu().numpy() if arrays.is_torch(part) else np.asarray(part, dtype=np.float64)
        made.append(values.reshape(len(values), math.prod(values.shape[1:])) if examples else values.reshape(-1))
    if examples and len({len(part) for part in made}) != 1:
        raise ValueError(f"{name}: tensors with different numbers of examples")
    whole_thing = np.concatenate(made, axis=-1)
    if not np.all(np.isfinite(whole_thing)):
        raise ValueError(f"{name}: has numbers that are not finite")
    return whole_thing


class InputCanary(Observed):
    """An example as canary in a DP-SGD loop: whether its gradient is in a step's noisy sum, as well as can be told.

    The claim of the loop is given as `sigma`, `clip_norm`, `q` and `records` (the size of the training set). In a step:
    `look` at gradients of some data at the weights of the moment, `aim` at the canary's gradient, `observe` what was
    released, with the canary and without it, or one of them by a coin of your own. Gradients are given as they are
    before clipping: one array, or a list with one per parameter (numpy, torch, or anything with DLPack).

    The filter may use data, weights and past releases, never the coin of the step that it scores: poor data make the
    attack weaker, and no bound wrong.

    >>> import numpy as np
    >>> rng = np.random.default_rng(4)
    >>> data = rng.normal(0, 1, (200, 30)) * (np.arange(30) < 5)  # some directions are full of data
    >>> data /= np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    >>> canary, plain = (InputCanary(0.7, 1.0, 0.1, 200, filter=kind) for kind in ("matched", "dot"))
    >>> example = np.full(30, 1.0) / np.sqrt(30)
    >>> for one in (canary, plain):
    ...     for step in range(300):
    ...         one.look(data)
    ...         strength = one.aim(example)
    ...         sums = [data[rng.random(200) < 0.1].sum(axis=0) + rng.normal(0, 0.7, 30) for _ in range(2)]
    ...         one.observe(sums[0] + example, without=sums[1])
    >>> canary.result().results[0].epsilon_lower > plain.result().results[0].epsilon_lower + 0.5
    True
    """

    def __init__(self, sigma: float, clip_norm: float, q: float, records: int, filter: str = "matched") -> None:
        super().__init__()
        self.sigma, self.clip_norm, self.q = real("sigma", sigma), real("clip_norm", clip_norm), real("q", q)
        self.records, self.filter = whole("records", records), filter
        if filter not in ("matched", "dot"):
            raise ValueError(f"filter: {filter!r} is not one of matched, dot")
        if not (0.0 < self.sigma < math.inf and 0.0 < self.clip_norm < math.inf):
            raise ValueError(f"sigma, clip_norm: {sigma}, {clip_norm} are not both positive")
        if not 0.0 < self.q <= 1.0 or self.records < 1:
            raise ValueError(f"q, records: {q}, {records}; a rate above 0, at most 1, and a number of records are needed")
        self._data: Any = None  # G, clipped
        self._inverse: Any = None  # of λI + GGᵀ
        self._mean: Any = 0.0
        self._direction: Any = None
        self._offset = 0.0

    def __repr__(self) -> str:
        seen = f"{len(self._members)} + {len(self._nonmembers)}"
        return f"<dpaudit.InputCanary filter={self.filter} observations={seen}>"

    def look(self, data: Any) -> None:
        """Learn the data's gradients at the weights of the moment: [examples × weights], of held-out or training rows."""
        import numpy as np

        g = _flat("data", data, examples=True)
        if len(g) == 0:
            raise ValueError("data: no example")
        norms = np.linalg.norm(g, axis=1, keepdims=True)
        g *= np.minimum(1.0, self.clip_norm / np.where(norms > 0.0, norms, 1.0))
        self._mean = g.sum(axis=0) * (self.q * self.records / len(g))
        spread = self.q * (1.0 - self.q) * self.records / len(g)
        self._data = self._inverse = None
        if spread > 0.0 and self.filter == "matched":
            gram = g @ g.T
            gram[np.diag_indices(len(g))] += (self.sigma * self.clip_norm) ** 2 / spread
            self._data, self._inverse = g, np.linalg.inv(gram)

    def aim(self, gradient: Any) -> float:
        """The canary of this step, by its gradient. Gives its strength: 1 is all that the noise alone would show.

        A step with the canary and one without differ by `strength`, with the deviation `sigma`, as far as the data
        that were looked at tell: a step then shows at most ε of a Gaussian mechanism with noise sigma/strength.
        """
        import numpy as np

        g = _flat("gradient", gradient, examples=False)
        if self._data is not None and g.shape[0] != self._data.shape[1]:
            raise ValueError(f"gradient: {g.shape[0]} numbers, the data's have {self._data.shape[1]}")
        norm = float(np.linalg.norm(g))
        clipped = g * min(1.0, self.clip_norm / norm) if norm > 0.0 else g
        w = clipped.copy()
        if self._data is not None:
            w -= self._data.T @ (self._inverse @ (self._data @ clipped))
        seen = float(w @ clipped)
        strength = math.sqrt(max(seen, 0.0)) / self.clip_norm
        # σ⟨M⁻¹g, S⟩/√⟨M⁻¹g, g⟩ with the noise's σ²C² taken out of M⁻¹
        self._direction = w / math.sqrt(seen) / self.clip_norm if seen > 0.0 else np.zeros_like(w)
        self._offset = float(np.sum(self._direction * self._mean)) if self.filter == "matched" else 0.0
        return strength

    def score(self, private_sum: Any) -> float:
        """What the filter makes of a released sum; larger with the canary in it.

        Arguments:
            private_sum: what was released: an array, or a list of tensors.
        """
        if self._direction is None:
            raise ValueError("score: aim() at a canary first")
        given = _flat("private_sum", private_sum, examples=False)
        if given.shape != self._direction.shape:
            raise ValueError(f"private_sum: {given.shape[0]} numbers, the canary's gradient has {self._direction.shape[0]}")
        return float(self._direction @ given) - self._offset

    def observe(self, private_sum: Any, without: Any = None, *, member: bool = True) -> None:
        """Take in what the step released with the canary, and `without` it, from noise and a batch of its own.

        Where a step is made once, toss a coin before it, put the canary in when it says so, and give `member`.

        Arguments:
            private_sum: what the step released.
            without: what a step without the canary released.
            member: was the canary in, where there is one sum a step?
        """
        own = self.score(private_sum)
        other = None if without is None else self.score(without)
        (self._members if member or without is not None else self._nonmembers).append(own)
        if other is not None:
            self._nonmembers.append(other)

    def craft(
        self, x: Any, gradient_of: Callable[[Any], Any], low: float, high: float, steps: int = 20, rate: Optional[float] = None
    ) -> Any:
        """A canary for this filter: `x` (torch) moved between `low` and `high` to where its strength is largest.

        `gradient_of(x)` gives the loss gradient of the example, one tensor or a list, made with create_graph=True. Signs
        of the slope are followed with a step that shrinks from `rate` (default: a tenth of the range) to nothing; what
        is given back is the best of all places, never weaker than `x`.

        Arguments:
            x: where to begin.
            gradient_of: the loss gradient of an example.
            low: least value of an input.
            high: largest value.
            steps: how many steps are made.
            rate: length of the first step.
        """
        import torch

        rate = 0.1 * (high - low) if rate is None else real("rate", rate)
        at, best, most = x.detach().clone().clamp(low, high), x.detach().clone(), -1.0
        for i in range(whole("steps", steps) + 1):
            at.requires_grad_(True)
            given = gradient_of(at)
            parts = given if isinstance(given, (list, tuple)) else [given]
            seen = self._strength_of(torch.cat([part.reshape(-1) for part in parts]))
            if float(seen) > most:
                best, most = at.detach().clone(), float(seen)
            if i == steps or not seen.requires_grad:
                break
            (slope,) = torch.autograd.grad(seen, at)
            at = (at + rate * (1.0 - i / steps) * slope.sign()).clamp(low, high).detach()
        return best

    def _strength_of(self, gradient: Any) -> Any:
        """The square of `aim`'s strength as a tensor with its graph."""
        import torch

        clipped = gradient.double() * (self.clip_norm / gradient.double().norm().clamp(min=1e-300)).clamp(max=1.0)
        seen = clipped @ clipped
        if self._data is not None:
            y = torch.as_tensor(self._data, device=clipped.device) @ clipped
            seen = seen - y @ (torch.as_tensor(self._inverse, device=clipped.device) @ y)
        return seen / self.clip_norm**2
