# SPDX-License-Identifier: GPL-3.0-or-later
"""What `watch` keeps of a training: sums over the steps it looked at, from which every check is computed.

A step releases S. With every example's gradient at hand the clipped sum a = Σ clip(gᵢ) is known, and r = S − a must be
fresh N(0, σ²C²) noise. All of it is looked at on a few thousand probed weights (all of a small model). Four vectors are
known before the noise is drawn: a, the sum without clipping, the sum clipped tensor by tensor, and the sum of those
examples that clipping cuts. Noise is judged on what of r is orthogonal to them, so that a wrong clip does not look like
wrong noise; clipping and scale are judged on what of r lies along them.
"""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import numpy as np

from . import _watch_arrays as arrays

PROBES = 4096  # probed weights of a large model
ALIGNED = 32  # first weights of every tensor, compared between tensors
SKETCH = 256  # signs kept of every step, compared between steps
LOW_BITS = 8
DIRECTIONS = ("unclipped", "per-tensor", "clip-norm", "scale", "batch-size")
LOOK_COST = 1 << 22  # gradients with more numbers than this are not looked at in every step
MOST_SPARSE = 8


class Layout:
    """Which weights are probed: all, or the first few and a random choice of every tensor."""

    def __init__(self, names: Sequence[str], sizes: Sequence[int], seed: int) -> None:
        self.names, self.sizes = list(names), [int(size) for size in sizes]
        draw = np.random.default_rng([seed, 0x77617463])
        total = sum(self.sizes)
        self.index = []
        for size in self.sizes:
            wanted = size if total <= PROBES else min(size, max(ALIGNED, math.ceil(PROBES * size / total)))
            if wanted == size:
                self.index.append(np.arange(size))
                continue
            first = np.arange(min(ALIGNED, wanted))
            others = draw.choice(size - len(first), wanted - len(first), replace=False) + len(first)
            self.index.append(np.concatenate([first, np.sort(others)]))
        self.counts = np.array([len(index) for index in self.index])
        self.starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        self.probes = int(self.counts.sum())
        self.sketch = np.sort(draw.permutation(self.probes)[:SKETCH])
        self.aligned = min(ALIGNED, int(self.counts.max()))

    @property
    def weights(self) -> int:
        return sum(self.sizes)


def clip_factors(norms: Any, limit: float) -> Any:
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, limit / norms)


class Sums:
    """Σ over the examples of a step, on the probed weights; sub-batches add up until the step is released."""

    def __init__(self, layout: Layout) -> None:
        self.vectors = np.zeros((4, layout.probes))  # clipped, unclipped, per tensor, cut
        self.absolute = np.zeros(layout.probes)
        self.examples = self.long = 0
        self.largest = 0.0
        self.eps = 0.0

    def add(self, layout: Layout, matrices: Sequence[Any], clip: Any, limits: Optional[Any]) -> Any:
        """Take in one (sub-)batch; gives the clip factors [tensors × examples]. `limits`: claimed per tensor."""
        squares = np.array([arrays.square_norms(matrix) for matrix in matrices])
        if not np.all(np.isfinite(squares)):
            raise ValueError("gradients: some are not finite")
        whole, each = np.sqrt(squares.sum(axis=0)), np.sqrt(squares)
        apart = np.array([clip_factors(norms, clip) for norms in each])
        if limits is None:
            factors = np.broadcast_to(clip_factors(whole, clip), each.shape)
            cut = whole > clip
        else:
            factors = np.array([clip_factors(norms, limit) for norms, limit in zip(each, limits)])
            cut = np.any(each > np.asarray(limits)[:, None], axis=0)
        for k, (matrix, index) in enumerate(zip(matrices, layout.index)):
            at = slice(layout.starts[k], layout.starts[k] + layout.counts[k])
            probed = arrays.columns(matrix, index)
            weights = np.stack([factors[k], np.ones(len(whole)), apart[k], factors[k] * cut])
            self.vectors[:, at] += weights @ probed
            self.absolute[at] += factors[k] @ np.abs(probed)
            self.eps = max(self.eps, arrays.precision(matrix))
        self.examples += len(whole)
        self.long += int(np.count_nonzero(cut))
        self.largest = max(self.largest, float(whole.max(initial=0.0)))
        return factors


class Record:
    """Sums over the looks. `state()` and `load()` carry them over a checkpoint."""

    _SCALARS = ("looks", "steps", "dof", "energy", "rounding", "examples", "long", "largest", "zero_bits", "all_bits", "narrow", "equal", "equal_expected")
    _LISTS = ("energies", "dofs", "look_sizes", "sizes", "members", "nonmembers", "member_norms")

    def __init__(self, layout: Layout, records: Optional[int]) -> None:
        self.layout = layout
        count = len(layout.sizes)
        self.looks = self.steps = self.examples = self.long = self.zero_bits = self.all_bits = self.narrow = 0
        self.dof = self.energy = self.rounding = self.largest = self.equal = self.equal_expected = 0.0
        self.energies: list[float] = []
        self.dofs: list[float] = []
        self.look_sizes: list[float] = []
        self.sizes: list[float] = []
        self.members: list[float] = []
        self.nonmembers: list[float] = []
        self.member_norms: list[float] = []
        self.signs: list[Any] = []
        self.by_tensor = np.zeros((6, count))  # energy, its mean, its variance, Σw, Σw², energy of r itself
        self.by_tensor_n = np.zeros(count)
        self.gram = np.zeros((len(DIRECTIONS), len(DIRECTIONS)))
        self.along = np.zeros(len(DIRECTIONS))
        self.agree = np.zeros((count, count))
        self.compared = np.zeros((count, count))
        self.inclusions = np.zeros(records or 0, dtype=np.int64)
        self.has_indices = False
        self.repeated_in_batch = 0

    # ── a step that was looked at ─────────────────────────────────────────────────────────────────

    def look(self, sums: Sums, released: Any, scale: float, clip: float, expected: Optional[float]) -> None:
        """`released`: S on the probed weights. Everything is kept in units of C, noise in units of σC = `scale`."""
        clipped = sums.vectors[0]
        r = released - clipped
        if not np.all(np.isfinite(r)):
            raise ValueError("released: some numbers are not finite")
        basis = _basis(sums.vectors)
        rest = (r - basis @ (basis.T @ r)) / scale
        energy, dof = float(rest @ rest), float(len(rest) - basis.shape[1])
        self.looks += 1
        self.energy += energy
        self.dof += dof
        self.energies.append(energy)
        self.dofs.append(dof)
        self.look_sizes.append(sums.examples)
        self.examples += sums.examples
        self.long += sums.long
        self.largest = max(self.largest, sums.largest / clip)
        self.rounding += float(np.mean((sums.eps * (sums.absolute + np.abs(released))) ** 2)) / scale**2
        self._tensors(rest, basis)
        self.by_tensor[5] += np.add.reduceat(r * r, self.layout.starts) / scale**2
        self._directions(r / clip, sums.vectors / clip, sums.examples, expected)
        self.signs.append(np.packbits(rest[self.layout.sketch] > 0.0))
        self._between(r)

    def _tensors(self, rest: Any, basis: Any) -> None:
        """Energy per tensor, with the mean and variance that fresh unit noise gives it after the projection."""
        starts, counts = self.layout.starts, self.layout.counts
        leverage = (basis * basis).sum(axis=1)
        outer = np.add.reduceat(basis[:, :, None] * basis[:, None, :], starts, axis=0)
        lost = np.add.reduceat(leverage, starts)
        self.by_tensor[0] += np.add.reduceat(rest * rest, starts)
        self.by_tensor[1] += counts - lost
        self.by_tensor[2] += 2.0 * np.maximum(counts - 2.0 * lost + (outer * outer).sum(axis=(1, 2)), 0.0)
        whole = leverage < 0.5
        w = np.where(whole, rest * rest / np.where(whole, 1.0 - leverage, 1.0), 0.0)
        self.by_tensor[3] += np.add.reduceat(w, starts)
        self.by_tensor[4] += np.add.reduceat(w * w, starts)
        self.by_tensor_n += np.add.reduceat(whole.astype(float), starts)

    def _directions(self, r: Any, vectors: Any, size: float, expected: Optional[float]) -> None:
        clipped, unclipped, apart, cut = vectors
        off = expected / size - 1.0 if expected and size else 0.0
        d = np.stack([unclipped - clipped, apart - clipped, cut, clipped, off * clipped])
        d[np.linalg.norm(d, axis=1) < 1e-4] = 0.0  # rounding only
        self.gram += d @ d.T
        self.along += d @ r

    def _between(self, r: Any) -> None:
        layout = self.layout
        signs = np.zeros((len(layout.sizes), layout.aligned))
        for k, (start, count) in enumerate(zip(layout.starts, layout.counts)):
            width = min(count, layout.aligned)
            signs[k, :width] = np.sign(r[start : start + width])
        self.agree += signs @ signs.T
        self.compared += np.abs(signs) @ np.abs(signs).T

    # ── every step ────────────────────────────────────────────────────────────────────────────────

    def sampled(self, size: float, indices: Optional[Any]) -> None:
        self.steps += 1
        self.sizes.append(size)
        if indices is None or len(self.inclusions) == 0:
            return
        self.has_indices = True
        which = np.asarray(indices, dtype=np.int64).reshape(-1)
        if len(which) and (which.min() < 0 or which.max() >= len(self.inclusions)):
            raise ValueError(f"batch: an index is not between 0 and {len(self.inclusions) - 1}, the records of the claim")
        seen = np.bincount(which, minlength=len(self.inclusions))
        self.repeated_in_batch += int(np.count_nonzero(seen > 1))
        self.inclusions += seen

    def bits(self, released: Sequence[Any], seen: Any, sums: Sums, scale: float) -> None:
        """Low bits of released numbers in which nothing cancelled: a difference of larger numbers ends in zeros by itself."""
        r = seen - sums.vectors[0]
        whole = np.abs(seen) >= np.maximum(sums.absolute, np.abs(r))
        for part, index, start, count in zip(released, self.layout.index, self.layout.starts, self.layout.counts):
            found = arrays.low_bits_zero(arrays.flat(part), index[whole[start : start + count]], LOW_BITS)
            if found is None:
                self.narrow = 1
                continue
            self.zero_bits += found[0]
            self.all_bits += found[1]
            self._equals(seen[start : start + count], arrays.precision(part), scale)

    def _equals(self, values: Any, eps: float, scale: float) -> None:
        """Equal numbers within a tensor, and at most how many the format gives: two numbers are in one cell of width
        eps·|v| with probability eps·E|v|·∫f², and ∫f² of anything plus N(0, s²) is at most 1/(2s√π)."""
        values = values[values != 0.0]
        pairs = 0.5 * len(values) * (len(values) - 1.0)
        if pairs > 0.0:
            self.equal += len(values) - len(np.unique(values))
            self.equal_expected += pairs * eps * float(np.mean(np.abs(values))) / (2.0 * scale * math.sqrt(math.pi))

    # ── checkpoints ───────────────────────────────────────────────────────────────────────────────

    _ARRAYS = ("by_tensor", "by_tensor_n", "gram", "along", "agree", "compared", "inclusions")

    def state(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in (*self._SCALARS, "has_indices", "repeated_in_batch")}
        kept.update({name: list(getattr(self, name)) for name in self._LISTS})
        kept.update({name: getattr(self, name).copy() for name in self._ARRAYS})
        kept["signs"] = np.array(self.signs, dtype=np.uint8).reshape(len(self.signs), -1)
        return kept

    def load(self, state: dict[str, Any]) -> None:
        for name in (*self._SCALARS, "has_indices", "repeated_in_batch"):
            setattr(self, name, state[name])
        for name in self._LISTS:
            setattr(self, name, [float(x) for x in state[name]])
        for name in self._ARRAYS:
            value = np.asarray(state[name])
            if value.shape != getattr(self, name).shape:
                raise ValueError(f"state: {name} has the shape {value.shape}, this watch needs {getattr(self, name).shape}")
            setattr(self, name, value.copy())
        self.signs = list(np.asarray(state["signs"], dtype=np.uint8))


def _basis(vectors: Any) -> Any:
    """An orthonormal basis of the rows, [weights × rank]."""
    lengths = np.linalg.norm(vectors, axis=1)
    used = vectors[lengths > 0.0] / lengths[lengths > 0.0][:, None]
    if len(used) == 0:
        return np.zeros((vectors.shape[1], 0))
    values, turned = np.linalg.eigh(used @ used.T)
    kept = values > 1e-8 * values[-1]
    return used.T @ (turned[:, kept] / np.sqrt(values[kept]))
