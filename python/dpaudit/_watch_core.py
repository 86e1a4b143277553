# SPDX-License-Identifier: GPL-3.0-or-later
"""The object that stands beside a training: takes in what every step had and released, asks canaries, gives the result."""

from __future__ import annotations

import inspect
import os
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import _watch_arrays as arrays
from ._library import real, whole
from ._watch import Promise
from ._watch_canaries import Generators, ask
from ._watch_record import LOOK_COST, MOST_SPARSE, Layout, Record, Sums
from ._watch_result import Result

Place = tuple[str, int]
_ASKED_AT = (0.0, 0.25, 0.5, 0.75)  # of the training: when canaries are asked


def place_of(thing: Any) -> Optional[Place]:
    """File and first line of a function, for "look here"."""
    try:
        code = inspect.unwrap(thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing).__call__)
        return os.path.relpath(inspect.getsourcefile(code) or ""), inspect.getsourcelines(code)[1]
    except (TypeError, OSError, ValueError):
        return None


def _caller() -> Optional[Place]:
    frame = inspect.currentframe()
    here = os.path.dirname(__file__)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == here:
        frame = frame.f_back
    if frame is None:
        return None
    try:
        return os.path.relpath(frame.f_code.co_filename), frame.f_lineno
    except ValueError:
        return frame.f_code.co_filename, frame.f_lineno


class _Aim:
    """The primary test's direction in one step: the longest example, whose clipped gradient is told from its absence."""

    def __init__(self, matrices: Sequence[Any], factors: Any, member: bool) -> None:
        squares = np.array([arrays.square_norms(matrix) for matrix in matrices]) * factors**2
        row = int(np.argmax(squares.sum(axis=0)))
        self.own = float(np.sqrt(squares.sum(axis=0)[row]))
        self.scales = factors[:, row] / self.own if self.own > 0.0 else np.zeros(len(matrices))
        self.vectors = [arrays.vector_of(matrix, row) for matrix in matrices]
        self.member = member
        self.known = 0.0

    def add(self, matrices: Sequence[Any], factors: Any) -> None:
        for matrix, factor, vector, scale in zip(matrices, factors, self.vectors, self.scales):
            self.known += float(factor @ arrays.times(matrix, vector)) * scale

    def score(self, released: Sequence[Any], normalizer: float) -> float:
        total = 0.0
        for part, vector, scale in zip(released, self.vectors, self.scales):
            total += float(arrays.times(arrays.flat(part)[None, :], vector)[0]) * scale
        return total * normalizer - self.known + (self.own if self.member else 0.0)


class Watch:
    """Watches one training; made by `dpaudit.watch`. See docs/watch.md.

    In the loop: call it in place of the function it watches, or `observe` what a step had and released; an optimizer
    needs nothing. `batch(indices)` tells it who is in the next step. `result()` gives the verdicts.
    """

    def __init__(
        self,
        claim: Promise,
        target: Any,
        normalizer: float,
        names: Optional[Sequence[str]],
        canaries: bool,
        generators: Sequence[Any],
        every: Optional[int],
        seed: int,
    ) -> None:
        self.claim = claim
        self.normalizer = real("normalizer", normalizer)
        if not self.normalizer > 0.0:
            raise ValueError(f"normalizer: {normalizer} is not positive")
        self._names = list(names) if names is not None else None
        self._every, self._seed = None if every is None else max(1, whole("every", every)), whole("seed", seed)
        self._canaries, self._generators = bool(canaries), Generators(generators)
        self._function: Optional[Callable[..., Any]] = None
        self._release: Optional[Callable[[list[Any]], list[Any]]] = None
        self._gather: Optional[Callable[[Any], Any]] = None
        self._detach: Callable[[], None] = lambda: None
        self._record: Optional[Record] = None
        self._sums: Optional[Sums] = None
        self._aim: Optional[_Aim] = None
        self._size = 0.0
        self._indices: Optional[Any] = None
        self._asked: list[dict[str, Any]] = []
        self._state: Optional[dict[str, Any]] = None
        self.places: dict[str, Optional[Place]] = {}
        if hasattr(target, "param_groups"):
            from ._watch_torch import attach

            attach(self, target)
        elif callable(target):
            self._function = target
            self.places = {"noise": place_of(target), "clip": place_of(target)}
        elif target is not None:
            raise ValueError(f"target: {target!r} is neither an optimizer nor a function")

    def __repr__(self) -> str:
        seen = self._record.steps if self._record else 0
        return f"<dpaudit.Watch steps={seen} of {self.claim.steps}>"

    # ── in the loop ───────────────────────────────────────────────────────────────────────────────

    def __call__(self, gradients: Any, *arguments: Any, **named: Any) -> Any:
        """The watched function itself: releases what it releases."""
        if self._function is None:
            raise TypeError("this watch has no function: give one to dpaudit.watch, or use observe()")
        function = self._function
        given = arrays.parts("gradients", gradients)
        if self._canaries and self._asks_now(given):
            self._release = lambda batch: arrays.parts("released", function(_shaped(gradients, batch), *arguments, **named))
            self._ask(given, gradients)
        released = function(gradients, *arguments, **named)
        self._accumulate(given, gradients)
        self._finish(arrays.parts("released", released))
        return released

    def observe(self, gradients: Any, released: Any, batch: Optional[Any] = None) -> None:
        """One step: the gradients of its examples, as they were before clipping, and what it released.

        Both as one array, a list with one array per tensor or a dictionary; `gradients` has the examples first, and is
        None for a step without any. `batch`: the indices of its examples in the training set.
        """
        if not self.places:
            self.places = {"noise": _caller(), "clip": _caller(), "sample": _caller()}
        if batch is not None:
            self.batch(batch)
        if gradients is not None:
            self.accumulate(gradients)
        out = arrays.parts("released", released)
        if self._record is None:
            self._start([part[None] for part in out], released)
        self._finish(out)

    def accumulate(self, gradients: Any) -> None:
        """A part of the next step's examples, when gradients are accumulated over several backward passes."""
        self._accumulate(arrays.parts("gradients", gradients), gradients)

    def batch(self, indices: Any) -> None:
        """The indices of the examples in the next step."""
        self._indices = np.asarray(indices.detach().cpu() if arrays.is_torch(indices) else indices)

    def result(self) -> Result:
        """Verdict, checks and numbers for what was seen so far."""
        if self._record is None or self._record.looks == 0:
            raise ValueError("nothing was watched: no step was released under this watch")
        return Result(self.claim, self._record, self._asked, self.places)

    def detach(self) -> None:
        """Take the watch off the optimizer."""
        self._detach()

    # ── checkpoints ───────────────────────────────────────────────────────────────────────────────

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps; between two steps."""
        if self._sums is not None:
            raise ValueError("state_dict: a step is half done; save after it was released")
        if self._record is None:
            return {"record": None}
        return {
            "record": self._record.state(),
            "names": self._record.layout.names,
            "sizes": self._record.layout.sizes,
            "asked": list(self._asked),
            "every": self._every,
            "seed": self._seed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.get("record") is None:
            return
        self._seed, self._every, self._asked = state["seed"], state["every"], list(state["asked"])
        self._record = Record(Layout(state["names"], state["sizes"], self._seed), self.claim.records)
        self._record.load(state["record"])

    # ── inside ────────────────────────────────────────────────────────────────────────────────────

    def _start(self, given: Sequence[Any], original: Any) -> Record:
        sizes = [int(np.prod(part.shape[1:])) if part.ndim > 1 else 1 for part in given]
        names = self._names or arrays.part_names(original)
        if len(names) != len(sizes):
            raise ValueError(f"names: {len(names)} names for {len(sizes)} tensors")
        if sum(sizes) < 64:
            raise ValueError(f"gradients: {sum(sizes)} weights; a watch needs at least 64")
        if self.claim.limits is not None and len(self.claim.limits) != len(sizes):
            raise ValueError(f"clip_norm: {len(self.claim.limits)} norms for {len(sizes)} tensors")
        if self._every is None:
            cost = max(int(given[0].shape[0]), 1) * sum(sizes) // LOOK_COST
            self._every = min(max(1, cost), MOST_SPARSE)
        self._record = Record(Layout(names, sizes, self._seed), self.claim.records)
        return self._record

    def _accumulate(self, given: Sequence[Any], original: Any) -> None:
        record = self._record or self._start(given, original)
        counts = {int(part.shape[0]) for part in given}
        sizes = [int(np.prod(part.shape[1:])) if part.ndim > 1 else 1 for part in given]
        if len(counts) != 1:
            raise ValueError(f"gradients: tensors with different numbers of examples, {sorted(counts)}")
        if sizes != record.layout.sizes:
            raise ValueError(f"gradients: tensors of {sizes} weights an example, before there were {record.layout.sizes}")
        self._size += counts.pop()
        if record.steps % (self._every or 1) != 0:
            return
        matrices = [arrays.rows(part) for part in given]
        first = self._sums is None
        if self._sums is None:
            self._sums = Sums(record.layout)
        factors = self._sums.add(record.layout, matrices, self.claim.clip, self.claim.limits)
        if self._gather is None and factors.shape[1] > 0:
            if first or self._aim is None:
                self._aim = _Aim(matrices, factors, member=record.looks % 2 == 0)
            self._aim.add(matrices, factors)

    def _finish(self, released: Sequence[Any]) -> None:
        record = self._record
        if record is None:
            raise ValueError("released: a step without gradients before any with them; nothing is known of the model")
        found = [int(np.prod(part.shape)) for part in released]
        if found != record.layout.sizes:
            raise ValueError(f"released: tensors of {found} weights, but the gradients have {record.layout.sizes}")
        size = self._size
        if self._gather is not None:
            size = float(self._gather(np.array([size]))[0])
        if record.steps % (self._every or 1) == 0:
            self._look(record, released)
        record.sampled(size, self._indices)
        self._size, self._indices, self._sums, self._aim = 0.0, None, None, None

    def _look(self, record: Record, released: Sequence[Any]) -> None:
        claim, layout, sums = self.claim, record.layout, self._sums or Sums(record.layout)
        flat = [arrays.flat(part) for part in released]
        seen = np.concatenate([arrays.columns(part, index) for part, index in zip(flat, layout.index)]) * self.normalizer
        sums.eps = max([sums.eps, *(arrays.precision(part) for part in released)])
        if self._gather is not None:
            rows = np.vstack([sums.vectors, sums.absolute, seen])
            together = self._gather(np.concatenate([rows.ravel(), [sums.examples, sums.long]]))
            rows = together[:-2].reshape(rows.shape)
            sums.vectors, sums.absolute, seen = rows[:4], rows[4], rows[5]
            sums.examples, sums.long = int(together[-2]), int(together[-1])
        aim = self._aim
        if aim is not None and aim.own > 0.0:
            (record.members if aim.member else record.nonmembers).append(aim.score(released, self.normalizer) / claim.clip)
            if aim.member:
                record.member_norms.append(aim.own / claim.clip)
        record.bits(released, seen, sums, claim.sigma * claim.clip)
        record.look(sums, seen, claim.sigma * claim.clip, claim.clip, claim.batch)

    def _asks_now(self, given: Sequence[Any]) -> bool:
        done = self._record.steps if self._record else 0
        due = [int(share * self.claim.steps) for share in _ASKED_AT]
        return len(self._asked) < len(due) and done >= due[len(self._asked)] and int(given[0].shape[0]) > 0

    def _ask(self, given: Sequence[Any], original: Any = None) -> None:
        record = self._record or self._start(given, given if original is None else original)
        assert self._release is not None
        found = ask(
            self._release, given, record.layout, self.claim.clip, self.normalizer, self._generators, len(self._asked)
        )
        if found is not None:
            self._asked.append(found)


def _shaped(like: Any, batch: list[Any]) -> Any:
    """The flat list of `parts` in the structure that the function was given."""
    if isinstance(like, dict):
        made = {}
        for key in sorted(like):
            width = len(arrays.parts("", like[key]))
            made[key], batch = _shaped(like[key], batch[:width]), batch[width:]
        return {key: made[key] for key in like}
    if isinstance(like, (list, tuple)):
        out = []
        for item in like:
            width = len(arrays.parts("", item))
            out.append(_shaped(item, batch[:width]))
            batch = batch[width:]
        return type(like)(out) if type(like) in (list, tuple) else out
    if hasattr(like, "__array_namespace__"):  # JAX and others: the function is given its own kind of array
        return like.__array_namespace__().asarray(batch[0])
    return batch[0]
