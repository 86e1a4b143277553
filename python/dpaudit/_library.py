# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding libdpaudit and calling it: prototypes, mirrors of structs, errors. Nothing here is public."""

from __future__ import annotations

import _thread
import ctypes
import operator
import os
import sys
import threading
from numbers import Real
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Union

_STATUS_OK, _BAD_ARGUMENT, _BAD_INPUT, _NO_MEMORY, _IO, _NUMERIC, _CANCELLED = range(7)
_GRACE = 1.0  # seconds that an interrupted call gets to stop before it is left to itself


def _candidates() -> Iterator[Union[str, Path]]:
    """Where the library may be, in the order in which we look."""
    named = os.environ.get("DPAUDIT_LIBRARY")
    if named:
        yield named
        return
    here = Path(__file__).resolve().parent
    yield here / "lib" / ("libdpaudit.0.dylib" if sys.platform == "darwin" else "libdpaudit.so.0")
    for preset in ("release", "dev"):
        yield here.parent.parent / "build" / preset / "lib" / ("libdpaudit.dylib" if sys.platform == "darwin" else "libdpaudit.so")
    import ctypes.util  # it imports half of the standard library, which few need

    found = ctypes.util.find_library("dpaudit")
    if found:
        yield found


def _load() -> ctypes.CDLL:
    tried = []
    for path in _candidates():
        if os.sep in str(path) and not Path(path).exists():
            tried.append(str(path))
            continue
        return ctypes.CDLL(str(path))
    raise ImportError(
        "libdpaudit was not found. Build it (scripts/build) or set DPAUDIT_LIBRARY to its path. Looked for: "
        + ", ".join(tried)
    )


lib = _load()


# ── structs ───────────────────────────────────────────────────────────────────────────────────────

lib.dpa__struct_layout.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)]
lib.dpa__struct_layout.restype = ctypes.c_int


def layout(name: str) -> tuple[int, int]:
    """Offset and size of a struct or a field, as the library was compiled."""
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    if not lib.dpa__struct_layout(name.encode(), ctypes.byref(offset), ctypes.byref(size)):
        raise ImportError(f"{lib._name} does not know {name}: library and Python package do not belong together")
    return offset.value, size.value


def mirror(name: str) -> Callable[[type], type]:
    """Check a ctypes structure, field by field, against the struct `name` of the library that was loaded."""

    def check(structure: type) -> type:
        expected = [(name, (0, ctypes.sizeof(structure)))]
        for field, *_ in structure._fields_:  # type: ignore[attr-defined]
            place = getattr(structure, field)
            expected.append((f"{name}.{field}", (place.offset, place.size)))
        for what, mine in expected:
            if layout(what) != mine:
                raise ImportError(
                    f"{what} is at {mine} here and at {layout(what)} in {lib._name}: "
                    "library and Python package do not belong together"
                )
        return structure

    return check


@mirror("dpa_error")
class Error(ctypes.Structure):
    """dpa_error of status.h."""

    _fields_ = [("status", ctypes.c_int), ("place", ctypes.c_char * 512), ("text", ctypes.c_char * 512)]


@mirror("dpa_progress")
class Progress(ctypes.Structure):
    """dpa_progress of status.h."""

    _fields_ = [("call", ctypes.c_void_p), ("user", ctypes.c_void_p)]


class Handle:
    """Owns what the library gave: `pointer` is filled by a call and freed with the last reference to this object."""

    __slots__ = ("pointer", "_free")

    def __init__(self, free: Callable[[ctypes.c_void_p], None]):
        self.pointer = ctypes.c_void_p()
        self._free = free

    def __del__(self) -> None:
        if self.pointer:
            self._free(self.pointer)


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────


def declare(name: str, *arguments: Any) -> None:
    """Give `lib.name` its argument types; every declared call returns a dpa_status and takes a dpa_error last."""
    function = getattr(lib, name)
    function.argtypes = [*arguments, ctypes.POINTER(Error)]
    function.restype = ctypes.c_int


def declare_free(name: str) -> Callable[[ctypes.c_void_p], None]:
    function: Callable[[ctypes.c_void_p], None] = getattr(lib, name)
    function.argtypes = [ctypes.c_void_p]  # type: ignore[attr-defined]
    function.restype = None  # type: ignore[attr-defined]
    return function


def _exception(err: Error) -> BaseException:
    place = err.place.decode("utf-8", "replace")
    text = err.text.decode("utf-8", "replace")
    message = f"{place}: {text}" if place else text
    kinds = {
        _BAD_ARGUMENT: ValueError,
        _BAD_INPUT: ValueError,
        _NO_MEMORY: MemoryError,
        _IO: OSError,
        _CANCELLED: KeyboardInterrupt,
    }
    return kinds.get(err.status, RuntimeError)(message)


def call(name: str, *arguments: Any) -> None:
    """Call a declared function; a failure becomes an exception with the library's own words."""
    err = Error()
    if getattr(lib, name)(*arguments, ctypes.byref(err)) != _STATUS_OK:
        raise _exception(err)


class Stop:
    """A flag that long calls look at (dpa__progress_flag): set, it ends them. The library reads it without Python."""

    _CALL = ctypes.cast(lib.dpa__progress_flag, ctypes.c_void_p).value

    def __init__(self) -> None:
        self._flag = ctypes.c_int(0)
        self.progress = Progress(self._CALL, ctypes.addressof(self._flag))

    def set(self) -> None:
        self._flag.value = 1


def call_interruptibly(stop: Stop, keep: Any, name: str, *arguments: Any) -> None:
    """As `call`, for what may take long: Ctrl-C works. `keep` is whatever the arguments point to.

    Python runs signal handlers in the main thread, between two of its own instructions, which a thread inside the
    library never reaches. So the main thread waits and another one calls. When the wait is interrupted, `stop` ends
    the call; one that does not look at it in time is left to finish alone, and its result is dropped (and all that it
    uses is kept until then).
    """
    if threading.current_thread() is not threading.main_thread():
        call(name, *arguments)
        return
    done = _thread.allocate_lock()
    failure: list[BaseException] = []

    def work(*kept: Any) -> None:
        try:
            call(name, *arguments)
        except BaseException as exception:
            failure.append(exception)
        finally:
            done.release()

    done.acquire()
    _thread.start_new_thread(work, (stop, keep))
    try:
        done.acquire()
    except BaseException:
        stop.set()
        done.acquire(timeout=_GRACE)
        raise
    if failure:
        raise failure[0]


lib.dpa_version.restype = ctypes.c_char_p
free = declare_free("dpa_free")


def take_text(name: str, *arguments: Any) -> str:
    """The string that a function `dpa_x(*arguments, char **out, err)` gives."""
    text = Handle(free)
    call(name, *arguments, ctypes.byref(text.pointer))
    return ctypes.string_at(text.pointer.value or 0).decode("utf-8")


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────


def whole(name: str, value: Any) -> int:
    """A whole number for an unsigned 64-bit argument: ctypes itself would take −1 for 2⁶⁴−1."""
    try:
        number = int(value) if isinstance(value, Real) and value == int(value) else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: {value!r} is not a whole number") from None
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{name}: {value!r} is not between 0 and 2^64-1")
    return number


def real(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: {value!r} is not a number") from None


def text(name: str, value: str) -> bytes:
    """Text for a C string, which a zero byte would cut."""
    if "\0" in value:
        raise ValueError(f"{name}: {value!r} has a zero byte in it")
    return value.encode("utf-8", "surrogateescape")


def choose(name: str, word: Any, table: dict[str, int]) -> int:
    if not isinstance(word, str) or word not in table:
        raise ValueError(f"{name}: {word!r} is not one of {', '.join(table)}")
    return table[word]


@mirror("dpa_request")
class Request(ctypes.Structure):
    """dpa_request of estimate.h, filled by the names of the command-line options, so that the library checks them."""

    _fields_ = [
        ("delta", ctypes.c_double),
        ("confidence", ctypes.c_double),
        ("sides", ctypes.c_int),
        ("family", ctypes.c_char * 512),
        ("method", ctypes.c_char * 40),
        ("select", ctypes.c_char * 40),
        ("claim_epsilon", ctypes.c_double),
        ("claim_delta", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("threads", ctypes.c_uint),
        ("progress", Progress),
    ]

    stop: Optional[Stop] = None


lib.dpa__request_init.argtypes = [ctypes.POINTER(Request)]
lib.dpa__request_init.restype = None
declare("dpa__request_set", ctypes.POINTER(Request), ctypes.c_char_p, ctypes.c_char_p)


def request(sides: Any = 1, **options: Any) -> Request:
    """A request with the given options; None leaves an option at its default."""
    made = Request()
    lib.dpa__request_init(ctypes.byref(made))
    if sides not in (1, 2):
        raise ValueError(f"sides: {sides!r} is not 1 or 2")
    made.sides = int(sides)
    for name, value in options.items():
        if value is None:
            continue
        key = name.replace("_", "-")
        if isinstance(value, Real) and not isinstance(value, int):
            value = repr(float(value))
        call("dpa__request_set", ctypes.byref(made), key.encode(), text(key, str(value)))
    return made
