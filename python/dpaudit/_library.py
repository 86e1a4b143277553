# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding libdpaudit and calling it: prototypes, handles, errors. Nothing here is public, and no struct is repeated."""

from __future__ import annotations

import _thread
import ctypes
import functools
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


def _found(name: str) -> Any:
    """The library's function of this name."""
    if not hasattr(lib, name):
        raise ImportError(f"{lib._name} has no {name}: library and Python package do not belong together")
    return getattr(lib, name)


# ── what the library owns ─────────────────────────────────────────────────────────────────────────


class Handle:
    """Owns what the library gave: `pointer` is filled by a call and freed with the last reference to this object."""

    __slots__ = ("pointer", "_free")

    def __init__(self, free: Callable[[ctypes.c_void_p], None]):
        self.pointer = ctypes.c_void_p()
        self._free = free

    def __del__(self) -> None:
        if self.pointer:
            self._free(self.pointer)


_found("dpa__error_size").restype = ctypes.c_size_t
for _name in ("dpa__error_place", "dpa__error_text"):
    _found(_name).argtypes = [ctypes.c_void_p]
    _found(_name).restype = ctypes.c_char_p

#: Room for a dpa_error, which the library fills and reads.
Error = ctypes.c_char * lib.dpa__error_size()


# ── calls ─────────────────────────────────────────────────────────────────────────────────────────


def declare(name: str, *arguments: Any) -> None:
    """Give `lib.name` its argument types; every declared call returns a dpa_status and takes a dpa_error last."""
    function = _found(name)
    function.argtypes = [*arguments, ctypes.c_void_p]
    function.restype = ctypes.c_int


def declare_free(name: str) -> Callable[[ctypes.c_void_p], None]:
    function: Callable[[ctypes.c_void_p], None] = getattr(lib, name)
    function.argtypes = [ctypes.c_void_p]  # type: ignore[attr-defined]
    function.restype = None  # type: ignore[attr-defined]
    return function


def _exception(status: int, err: Any) -> BaseException:
    place = lib.dpa__error_place(err).decode("utf-8", "replace")
    text = lib.dpa__error_text(err).decode("utf-8", "replace")
    message = f"{place}: {text}" if place else text
    kinds = {
        _BAD_ARGUMENT: ValueError,
        _BAD_INPUT: ValueError,
        _NO_MEMORY: MemoryError,
        _IO: OSError,
        _CANCELLED: KeyboardInterrupt,
    }
    return kinds.get(status, RuntimeError)(message)


def call(name: str, *arguments: Any) -> None:
    """Call a declared function; a failure becomes an exception with the library's own words."""
    err = Error()
    status = getattr(lib, name)(*arguments, err)
    if status != _STATUS_OK:
        raise _exception(status, err)


lib.dpa__stop_new.restype = ctypes.c_void_p
lib.dpa__stop_set.argtypes = [ctypes.c_void_p]
lib.dpa__stop_set.restype = None
free = declare_free("dpa_free")


class Stop(Handle):
    """What long calls look at, by `pointer`: set, it ends them. The library reads it without Python."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(free)
        self.pointer.value = lib.dpa__stop_new()
        if not self.pointer:
            raise MemoryError

    def set(self) -> None:
        lib.dpa__stop_set(self.pointer)


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


declare("dpa__request_new", ctypes.POINTER(ctypes.c_void_p))
declare("dpa__request_set", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
lib.dpa__request_progress.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
lib.dpa__request_progress.restype = None


def set_options(function: str, /, *where: Any, **options: Any) -> list[bytes]:
    """Fields by the names of the command-line options, so that the library checks them; None leaves one as it is.

    Gives the texts, which the caller keeps where the library does not copy them.
    """
    texts = []
    for name, value in options.items():
        if value is None:
            continue
        key = name.replace("_", "-")
        if isinstance(value, Real):
            value = repr(int(value) if isinstance(value, int) else float(value))
        texts.append(text(key, str(value)))
        call(function, *where, key.encode(), texts[-1])
    return texts


def request(sides: Any = 1, **options: Any) -> Handle:
    """A request with the given options; None leaves an option at its default."""
    if sides not in (1, 2):
        raise ValueError(f"sides: {sides!r} is not 1 or 2")
    made = Handle(free)
    call("dpa__request_new", ctypes.byref(made.pointer))
    if sides == 2:
        call("dpa__request_set", made.pointer, b"two-sided", None)
    set_options("dpa__request_set", made.pointer, **options)
    return made


lib.dpa__query_free.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
lib.dpa__query_free.restype = None
declare("dpa__query_new", ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
declare("dpa__query_set", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Query(Handle):
    """What a call is asked, of one of the kinds in binding.h: filled by names; what is not set has the default."""

    __slots__ = ("_kind", "_texts")

    def __init__(self, kind: str, **options: Any) -> None:
        self._kind, self._texts = kind.encode(), [b""]
        super().__init__(functools.partial(lib.dpa__query_free, self._kind))
        call("dpa__query_new", self._kind, ctypes.byref(self.pointer))
        self.set(**options)

    def set(self, **options: Any) -> None:
        self._texts += set_options("dpa__query_set", self._kind, self.pointer, **options)
