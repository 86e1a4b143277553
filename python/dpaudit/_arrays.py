# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in and out: whatever holds them, as memory that the library can read or write.

What lies in memory as the library wants it (contiguous float64; for models float32 too) is passed as it is. Anything
else is converted once. numpy is used when it is there; nothing needs it.
"""

from __future__ import annotations

import ctypes
import functools
from array import array
from types import ModuleType
from typing import Any, Optional, Sequence

_DOUBLE, _FLOAT, _BYTE = "d", "f", "B"
_NATIVE = {order + kind: kind for order in ("", "<", "=", "@") for kind in (_DOUBLE, _FLOAT)}  # little-endian machines
_NATIVE.update({"B": _BYTE, "?": _BYTE})
_NUMBERS = "?bBhHiIlLqQnNefd"  # formats of the buffer protocol that are real numbers


class _Buffer(ctypes.Structure):
    """Py_buffer of Python's C interface."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_Buffer)]
_release_buffer.restype = None


@functools.lru_cache(maxsize=1)
def numpy() -> Optional[ModuleType]:
    try:
        import numpy as module
    except ImportError:
        return None
    return module


class Numbers:
    """A contiguous run of float64, float32 or bytes: its address, its length, and what keeps it alive."""

    __slots__ = ("address", "count", "kind", "view", "source")

    def __init__(self, view: memoryview, source: Any):
        buffer = _Buffer()
        _get_buffer(view, ctypes.byref(buffer), 0)
        self.address = buffer.buf
        _release_buffer(ctypes.byref(buffer))  # the memoryview still holds the memory
        self.count = view.nbytes // view.itemsize
        self.kind = _NATIVE[view.format]
        self.view = view
        self.source = source


def _view(values: Any) -> Optional[memoryview]:
    """The memory of `values`, when it shows it by the buffer protocol."""
    try:
        return memoryview(values)
    except (TypeError, ValueError, BufferError):
        return None


def _fits(view: memoryview, kinds: str) -> bool:
    return view.c_contiguous and _NATIVE.get(view.format, "none") in kinds


def _as_numpy(name: str, values: Any) -> Any:
    """An array of numpy that shares memory with `values` where that is possible."""
    np = numpy()
    if hasattr(values, "detach"):  # a tensor that wants gradients does not show its numbers
        values = values.detach()
    try:
        if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            return np.from_dlpack(values)  # type: ignore[union-attr]
        return np.asarray(values)  # type: ignore[union-attr]
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        raise ValueError(f"{name}: {problem}") from None


def _check_shape(name: str, shape: Sequence[int], flat: bool) -> None:
    if len(shape) == 0:
        raise ValueError(f"{name}: needs a list or array of numbers")
    if len(shape) != 1 and not flat:
        long = sum(length != 1 for length in shape)
        hint = "; ravel() makes it one" if long <= 1 else ""
        raise ValueError(f"{name}: needs one dimension, has the shape {tuple(shape)}{hint}")


def _converted(name: str, values: Any, flat: bool) -> array[float]:
    """A copy as float64, without numpy."""
    view = _view(values)
    if view is not None:
        _check_shape(name, view.shape or (), flat)
        if view.format.lstrip("<=@>!") not in _NUMBERS:
            raise ValueError(f"{name}: needs real numbers, has the format {view.format!r}")
    if hasattr(values, "tolist"):
        values = values.tolist()
    try:
        return array(_DOUBLE, values)
    except (TypeError, ValueError, OverflowError) as problem:
        raise ValueError(f"{name}: {problem}") from None


def _rows(name: str, rows: Sequence[Any]) -> memoryview:
    """A list of lists as a matrix, without numpy."""
    made = [_converted(name, row, False) for row in rows]
    if len({len(row) for row in made}) != 1 or not made[0]:
        raise ValueError(f"{name}: rows of different lengths, or empty ones")
    flat: array[float] = array("d")
    for row in made:
        flat.extend(row)
    return memoryview(flat).cast("B").cast(_DOUBLE, (len(made), len(made[0])))


def numbers(name: str, values: Any, kinds: str = _DOUBLE, flat: bool = False) -> Numbers:
    """`values` as memory of one of `kinds`: their own where it fits, else a copy as float64.

    With `flat` any number of dimensions will do, in C order.
    """
    if isinstance(values, (str, bytes, bytearray)):
        raise ValueError(f"{name}: text is not numbers")
    mask = getattr(values, "mask", None)
    if mask is not None and getattr(mask, "any", bool)():
        raise ValueError(f"{name}: has masked values; leave them out first (compressed())")
    view = _view(values)
    if view is not None and _fits(view, kinds):
        _check_shape(name, view.shape or (), flat)
        return Numbers(view, values)
    if flat and isinstance(values, (list, tuple)) and values and isinstance(values[0], (list, tuple)):
        return Numbers(_rows(name, values), None)
    if numpy() is None or isinstance(values, (list, tuple, range, array)):
        return Numbers(memoryview(_converted(name, values, flat)), None)
    given = _as_numpy(name, values)
    _check_shape(name, given.shape, flat)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{name}: needs real numbers, has {given.dtype}")
    wanted = "f4" if _FLOAT in kinds and given.dtype == "f4" else "f8"
    given = numpy().ascontiguousarray(given, dtype=wanted)  # type: ignore[union-attr]
    return Numbers(memoryview(given), given)


def _shared(name: str, values: Any) -> Optional[memoryview]:
    """The memory of a tensor or the like. One that shows a new copy each time it is asked has none to show."""
    if numpy() is None or not (hasattr(values, "__array__") or hasattr(values, "__dlpack__")):
        return None
    first, second = _as_numpy(name, values), _as_numpy(name, values)
    return memoryview(first) if numpy().shares_memory(first, second) else None  # type: ignore[union-attr]


def writable(name: str, values: Any) -> Numbers:
    """The memory of `values` itself, float32 or float64, to be changed in place."""
    view = _view(values)
    if view is None:
        view = _shared(name, values)
    if view is None or not _fits(view, _FLOAT + _DOUBLE) or view.readonly:
        raise ValueError(f"{name}: is changed in place, so it must be a writable, contiguous float32 or float64 buffer")
    return Numbers(view, values)


def _has_more_than_one(view: memoryview) -> bool:
    """Is some byte above 1?"""
    np = numpy()
    if np is None:
        return len(view.tobytes().translate(None, b"\0\1")) > 0
    return view.nbytes > 0 and bool(np.asarray(view).max() > 1)


def flags(name: str, values: Any, flat: bool = False) -> Numbers:
    """0 or 1 each, as bytes."""
    view = _view(values)
    if view is not None and view.format in ("?", _BYTE) and view.c_contiguous:
        _check_shape(name, view.shape or (), flat)
        if view.format == _BYTE and _has_more_than_one(view):
            raise ValueError(f"{name}: must be 0 or 1 (False or True) each")
        return Numbers(view, values)
    given, np = numbers(name, values, flat=flat), numpy()
    plain = given.view.cast("B").cast(_DOUBLE)
    if np is None:
        bad = any(value not in (0.0, 1.0) for value in plain)
    else:
        array_of = np.asarray(given.view)
        bad = not ((array_of == 0) | (array_of == 1)).all()
    if bad:
        raise ValueError(f"{name}: must be 0 or 1 (False or True) each")
    if np is not None:
        return Numbers(memoryview(array_of.astype("u1")), None)
    return Numbers(memoryview(array(_BYTE, map(int, plain))).cast(_BYTE, given.view.shape or (0,)), None)


def empty(count: int, kind: str = _DOUBLE) -> Any:
    """Room for `count` numbers: an array of numpy, or of the standard library where there is no numpy."""
    np = numpy()
    if np is None:
        return array(kind, bytes(count * (8 if kind == _DOUBLE else 4)))
    return np.zeros(count, dtype="f8" if kind == _DOUBLE else "f4")
