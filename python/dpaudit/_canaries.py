# SPDX-License-Identifier: GPL-3.0-or-later
"""Random canaries for one-shot audits of (federated) training: regenerated from a seed, never stored."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Iterable, Optional, Sequence, Union

from ._arrays import Numbers, empty, numbers, writable
from ._judge import Evidence
from ._library import (
    Handle, Query, Stop, call, call_interruptibly, choose, declare, declare_free, free, lib, real, text, whole,
)  # fmt: skip

_KINDS = {"float32": "f", "float64": "d"}
DIRECTIONS = {"sphere": 0, "signs": 1, "hadamard": 2}


_free_canaries = declare_free("dpa__canaries_free")
_PROGRESS = ctypes.c_void_p
declare("dpa__canaries_new", ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
declare("dpa__canaries_load", ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
declare("dpa__canaries_save", ctypes.c_void_p, ctypes.c_char_p)
_VECTOR = ctypes.c_void_p
declare("dpa__vector_view", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_VECTOR))
declare("dpa__canaries_cosines", ctypes.c_void_p, _VECTOR, _VECTOR, ctypes.c_void_p, _PROGRESS)
declare("dpa__canaries_round", ctypes.c_void_p, _VECTOR, _PROGRESS)
declare(
    "dpa__canaries_own_of", ctypes.c_void_p, _VECTOR, ctypes.c_double, ctypes.c_void_p, ctypes.c_size_t, _PROGRESS
)
declare("dpa__canaries_schedule", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)
declare("dpa_evidence_fact", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)
lib.dpa__canaries_own_score.argtypes = lib.dpa__canaries_own_times.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
lib.dpa__canaries_own_score.restype = ctypes.c_double
lib.dpa__canaries_own_times.restype = ctypes.c_uint64
lib.dpa__canaries_own_spread.argtypes = [ctypes.c_void_p]
lib.dpa__canaries_own_spread.restype = ctypes.c_double
lib.dpa__canaries_choose.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_double]
lib.dpa__canaries_choose.restype = ctypes.c_double
for _kind in ("f32", "f64"):
    declare(f"dpa__canaries_make_{_kind}", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double, ctypes.c_void_p)
    declare(f"dpa__canaries_sum_{_kind}", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, _PROGRESS)
for _name, _type in {
    "dim": ctypes.c_size_t,
    "observed": ctypes.c_size_t,
    "unobserved": ctypes.c_size_t,
    "count": ctypes.c_size_t,
    "seed": ctypes.c_uint64,
    "rounds": ctypes.c_uint64,
    "direction": ctypes.c_int,
    "largest": ctypes.POINTER(ctypes.c_double),
}.items():
    getattr(lib, f"dpa__canaries_{_name}").argtypes = [ctypes.c_void_p]
    getattr(lib, f"dpa__canaries_{_name}").restype = _type


def _threads(threads: int) -> int:
    count = whole("threads", threads)
    if count >= 1 << 32:
        raise ValueError(f"threads: {threads} are too many")
    return count


def _suffix(values: Numbers) -> str:
    return "f32" if values.kind == "f" else "f64"


class CanarySet:
    """`count` random directions in R^dim that take part in the training, and `unobserved` more that never do.

    Canary i depends on (seed, first + i) only: the training loop and the auditor make the same ones, on any machine,
    and none is stored. One object per thread. With `direction="signs"` their elements are ±1/√dim, which are made eight
    times as fast (say so to `cosines` too); with `direction="hadamard"` they are exactly orthogonal, and any number of
    them costs one fast transform: the ones to certify with (`schedule`, `own`, `known`).

    Arguments:
        dim: parameters of the model.
        count: canaries that take part.
        seed: only the auditor's, until the training is over.
        unobserved: canaries that never take part.
        first: the number of the first canary.
        threads: how many; 0: one per core.
        direction: "sphere", "signs" or "hadamard".

    >>> canaries = CanarySet(dim=1000, count=8, seed=7, unobserved=4)
    >>> update = [0.0] * 1000
    >>> import array
    >>> total = array.array("d", update)
    >>> canaries.add_to(total, ids=[0, 1, 2], norm=5.0)
    >>> cosines = canaries.cosines(total)
    >>> len(cosines), min(cosines[:3]) > 0.5 > max(cosines[3:])
    (12, True)
    """

    def __init__(
        self,
        dim: int,
        count: int,
        seed: int = 1,
        *,
        unobserved: int = 0,
        first: int = 0,
        threads: int = 0,
        direction: str = "sphere",
    ) -> None:
        _ = choose("direction", direction, DIRECTIONS)
        opts = Query("canaries", threads=_threads(threads), direction=direction)
        sizes = {"dim": dim, "count": count, "seed": seed, "first": first, "unobserved": unobserved}
        opts.set(**{name: whole(name, value) for name, value in sizes.items()})
        self._handle = Handle(_free_canaries)
        call("dpa__canaries_new", opts.pointer, ctypes.byref(self._handle.pointer))

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"], *, threads: int = 0) -> "CanarySet":
        """Go on from a file that `save` wrote.

        Arguments:
            path: the file.
            threads: how many; 0: one per core.
        """
        made = cls.__new__(cls)
        made._handle = Handle(_free_canaries)
        name = text("path", os.fsdecode(os.fspath(path)))
        opts = Query("canaries", threads=_threads(threads))
        call("dpa__canaries_load", name, opts.pointer, ctypes.byref(made._handle.pointer))
        return made

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the whole state (seed, sizes, rounds, largest cosines) as a small file with a checksum.

        Arguments:
            path: where it goes.
        """
        call("dpa__canaries_save", self._handle.pointer, text("path", os.fsdecode(os.fspath(path))))

    @property
    def dim(self) -> int:
        return int(lib.dpa__canaries_dim(self._handle.pointer))

    @property
    def count(self) -> int:
        """Canaries that take part."""
        return int(lib.dpa__canaries_observed(self._handle.pointer))

    @property
    def unobserved(self) -> int:
        return int(lib.dpa__canaries_unobserved(self._handle.pointer))

    @property
    def seed(self) -> int:
        return int(lib.dpa__canaries_seed(self._handle.pointer))

    @property
    def direction(self) -> str:
        """"sphere", "signs" or "hadamard"."""
        number = lib.dpa__canaries_direction(self._handle.pointer)
        return next(name for name in DIRECTIONS if DIRECTIONS[name] == number)

    @property
    def rounds(self) -> int:
        return int(lib.dpa__canaries_rounds(self._handle.pointer))

    def __len__(self) -> int:
        """All canaries, the unobserved ones too."""
        return int(lib.dpa__canaries_count(self._handle.pointer))

    def __repr__(self) -> str:
        return f"<dpaudit.CanarySet dim={self.dim} count={self.count} unobserved={self.unobserved} rounds={self.rounds}>"

    def __reduce__(self) -> Any:
        raise TypeError("a CanarySet lives in the library and cannot be pickled or copied; save() and load() it")

    def vector(self, i: int, norm: float = 1.0, *, dtype: str = "float64") -> Any:
        """Canary `i`, scaled to `norm`, as a new array.

        Arguments:
            i: the canary's number, from 0.
            norm: its length.
            dtype: "float32" or "float64".
        """
        if dtype not in _KINDS:
            raise ValueError(f"dtype: {dtype!r} is not float32 or float64")
        made = empty(self.dim, _KINDS[dtype])
        out = writable("out", made)
        length = real("norm", norm)
        call(f"dpa__canaries_make_{_suffix(out)}", self._handle.pointer, whole("i", i), length, out.address)
        return made

    def add_to(self, sum: Any, ids: Optional[Iterable[int]] = None, norm: float = 1.0) -> None:
        """Add canaries `ids` (None: all that take part), each scaled to `norm`, to `sum`, in place."""
        out = writable("sum", sum)
        self._check_dim("sum", out)
        everyone = len(self)
        norms = (ctypes.c_double * everyone)()
        length = real("norm", norm)
        for i in range(self.count) if ids is None else ids:
            index = whole("ids", i)
            if index >= everyone:
                raise ValueError(f"ids: {index} is not one of {everyone} canaries")
            norms[index] += length
        self._call(f"dpa__canaries_sum_{_suffix(out)}", norms, out.address, keep=(norms, out))

    def cosines(self, model: Any, initial: Any = None) -> Any:
        """Cosines of all canaries (those that take part first) with `model`, or with `model` minus `initial`."""
        if model is None:
            raise ValueError("model: needed")
        vectors = [self._vector("model", model), self._vector("initial", initial)]
        made = empty(len(self))
        out = writable("out", made)
        pointers = [vector.pointer if vector else None for vector, _ in vectors]
        self._call("dpa__canaries_cosines", *pointers, out.address, keep=(vectors, out, made))
        return made

    def round(self, change: Any) -> None:
        """One round of training changed the model by `change`: remember the largest cosine of every canary so far."""
        vector, values = self._vector("change", change)
        if vector is None:
            raise ValueError("change: needed, the round's change of the model")
        self._call("dpa__canaries_round", vector.pointer, keep=(vector, values))

    def schedule(self, rounds: int, times: int = 1) -> list[list[int]]:
        """The rounds (from 0) of every canary, those that stay at home too: one in each of `times` equal parts of `rounds`.

        Drawn from seed and index before anything else; a canary that takes part sends its vector in these rounds.
        """
        mine = (ctypes.c_uint64 * max(1, whole("times", times)))()
        every = []
        for i in range(len(self)):
            call("dpa__canaries_schedule", self._handle.pointer, i, whole("rounds", rounds), whole("times", times), mine)
            every.append([int(r) for r in mine])
        return every

    def own(self, released: Any, candidates: Sequence[int], unit: float = 1.0) -> None:
        """A round released `released`: add to each of `candidates`, whose round it is, its part in it.

        Candidates are those that took part and those that stayed at home alike. `unit` is what a whole canary adds to
        `released`: the clipping norm, over what the sum is divided by.
        """
        vector, values = self._vector("released", released)
        if vector is None:
            raise ValueError("released: needed, what the round released")
        ids = (ctypes.c_size_t * max(1, len(candidates)))(*[whole("candidates", i) for i in candidates])
        arguments = (vector.pointer, real("unit", unit), ids, len(candidates))
        self._call("dpa__canaries_own_of", *arguments, keep=(vector, values, ids))

    def known(self, sigma: float = 1.0) -> Evidence:
        """The scores over each canary's own rounds as evidence for `judge`: a bound on ε of the whole training.

        `sigma` is the claimed noise multiplier; it matters only for the choice of canaries whose numbers of rounds
        differ. Say with `.about(participations=…)`, or `.about(q=…, steps=…)` for Poisson rounds, what the claim is about.
        """
        count = len(self)
        score, times = (ctypes.c_double * count)(), (ctypes.c_double * count)()
        for i in range(count):
            score[i] = lib.dpa__canaries_own_score(self._handle.pointer, i)
            times[i] = lib.dpa__canaries_own_times(self._handle.pointer, i)
        most = lib.dpa__canaries_choose(score, times, self.count, count, real("sigma", sigma))
        made = Evidence("cosines").about(
            scope="participation", design="one-run", dim=self.dim, direction=self.direction, participations=float(most)
        )
        made._add("members", [s for s in score[: self.count] if s == s])
        made._add("nonmembers", [s for s in score[self.count :] if s == s])
        facts = {"canary_rounds": most, "spread": lib.dpa__canaries_own_spread(self._handle.pointer)}
        for name, value in facts.items():
            call("dpa_evidence_fact", made._handle.pointer, name.encode(), float(value))
        return made

    @property
    def largest(self) -> Any:
        """The largest cosine of every canary over the rounds, as a new array; −inf before the first round."""
        made, count = empty(len(self)), len(self)
        out = writable("out", made)
        ctypes.memmove(out.address, lib.dpa__canaries_largest(self._handle.pointer), 8 * count)
        return made

    def _call(self, name: str, *arguments: Any, keep: Any) -> None:
        stop = Stop()
        keep = (keep, self._handle)
        call_interruptibly(stop, keep, name, self._handle.pointer, *arguments, stop.pointer)

    def _check_dim(self, name: str, values: Numbers) -> None:
        if values.count != self.dim:
            raise ValueError(f"{name}: {values.count} numbers, but the canaries have dimension {self.dim}")

    def _vector(self, name: str, values: Any) -> tuple[Optional[Handle], Optional[Numbers]]:
        if values is None:
            return None, None
        given = numbers(name, values, kinds="fd", flat=True)
        self._check_dim(name, given)
        at = (given.address, None) if given.kind == "f" else (None, given.address)
        vector = Handle(free)
        call("dpa__vector_view", *at, given.count, ctypes.byref(vector.pointer))
        return vector, given
