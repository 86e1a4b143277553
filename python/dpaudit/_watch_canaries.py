# SPDX-License-Identifier: GPL-3.0-or-later
"""Over-long canaries: the mechanism is asked, beside the training, what it does to gradients that clipping must cut.

A batch as large as the real one, its rows shrunk to 1e-3·C, is released twice from the same state of the random
generators: once as it is, once with canaries in its first rows. Same noise, so the difference is what clipping let
through, exactly. Where the generators cannot be set back (a secure one), the difference has the noise of two releases.
"""

from __future__ import annotations

import random
import sys
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import _watch_arrays as arrays
from ._watch_record import Layout

SMALL = 1e-3
LONG = 10.0
Release = Callable[[list[Any]], list[Any]]


class Generators:
    """The states of Python's, numpy's and torch's generators, and of those that the user names."""

    def __init__(self, named: Sequence[Any] = ()) -> None:
        self._named = list(named)
        for given in self._named:
            if not (hasattr(given, "get_state") or hasattr(given, "getstate") or hasattr(given, "bit_generator")):
                raise ValueError(f"generators: {given!r} is not a generator of torch, numpy or random")

    def save(self) -> list[Any]:
        states = [random.getstate(), np.random.get_state(), self._torch(None)]
        return states + [self._one(given, None) for given in self._named]

    def restore(self, states: list[Any]) -> None:
        random.setstate(states[0])
        np.random.set_state(states[1])
        self._torch(states[2])
        for given, state in zip(self._named, states[3:]):
            self._one(given, state)

    @staticmethod
    def _one(given: Any, state: Any) -> Any:
        if hasattr(given, "bit_generator"):
            if state is not None:
                given.bit_generator.state = state
            return given.bit_generator.state
        save, load = ("get_state", "set_state") if hasattr(given, "get_state") else ("getstate", "setstate")
        if state is not None:
            getattr(given, load)(state)
        return getattr(given, save)()

    @staticmethod
    def _torch(state: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "get_rng_state"):
            return None
        on_cards = torch.cuda.is_available() and torch.cuda.is_initialized()
        if state is not None:
            torch.set_rng_state(state[0])
            if on_cards:
                torch.cuda.set_rng_state_all(state[1])
        return torch.get_rng_state(), torch.cuda.get_rng_state_all() if on_cards else None


def _shrunk(parts: Sequence[Any], clip: float) -> list[Any]:
    """A copy of the batch with rows of length SMALL·C."""
    norms = np.sqrt(sum(arrays.square_norms(arrays.rows(part)) for part in parts))
    factors = SMALL * clip / np.where(norms > 0.0, norms, 1.0)
    made = []
    for part in parts:
        shape = (-1,) + (1,) * (part.ndim - 1)
        if arrays.is_torch(part):
            import torch

            made.append(part * torch.as_tensor(factors, dtype=part.dtype, device=part.device).reshape(shape))
        else:
            made.append(part * factors.reshape(shape).astype(part.dtype))
    return made


def _copies(parts: Sequence[Any]) -> list[Any]:
    """Contiguous ones, so that rows of them can be written."""
    return [part.clone().contiguous() if arrays.is_torch(part) else np.array(part, order="C") for part in parts]


def _with_canaries(batch: Sequence[Any], layout: Layout, tensors: Sequence[int], length: float) -> list[Any]:
    """Row 0: one canary across all tensors, at the second probed weight of each; rows 1…: one tensor each, at the first."""
    made = _copies(batch)
    wide = [k for k in range(len(layout.sizes)) if layout.counts[k] > 1]
    for part in made:
        part[: 1 + len(tensors)] = 0.0
    for k in wide:
        arrays.rows(made[k])[0, int(layout.index[k][1])] = length / np.sqrt(len(wide))
    for row, k in enumerate(tensors):
        arrays.rows(made[k])[1 + row, int(layout.index[k][0])] = length
    return made


def ask(
    release: Release,
    parts: Sequence[Any],
    layout: Layout,
    clip: float,
    normalizer: float,
    generators: Generators,
    turn: int,
) -> Optional[dict[str, Any]]:
    """What the mechanism lets through of canaries of length 10·C and 10·C·(batch + 1), in units of C."""
    count = int(parts[0].shape[0])
    if count == 0:
        return None
    most = max(0, min(count // 2, len(layout.sizes)))
    tensors = [(turn * most + i) % len(layout.sizes) for i in range(most)]
    state = generators.save()

    def released(batch: list[Any]) -> Any:
        generators.restore(state)
        out = [arrays.flat(part) for part in release(batch)]
        return np.concatenate([arrays.columns(part, index) for part, index in zip(out, layout.index)]) * normalizer / clip

    try:
        small = _shrunk(parts, clip)
        base = released(_copies(small))
        exact = bool(np.array_equal(base, released(_copies(small))))
        lengths = [LONG, LONG * (count + 1)]
        seen = [released(_with_canaries(small, layout, tensors, clip * length)) - base for length in lengths]
    finally:
        generators.restore(state)
    wide = [int(layout.starts[k]) + 1 for k in range(len(layout.sizes)) if layout.counts[k] > 1]
    return {
        "exact": exact,
        "batch": count,
        "lengths": lengths,
        "across": [float(np.sum(change[wide])) / np.sqrt(len(wide)) for change in seen],
        "tensors": {int(k): [float(change[int(layout.starts[k])]) for change in seen] for k in tensors},
        "spread": len(wide),
    }
