# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding libdpaudit and calling it: prototypes, errors, requests. Nothing here is public."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from pathlib import Path

_STATUS_OK, _BAD_ARGUMENT, _BAD_INPUT, _NO_MEMORY, _IO, _NUMERIC, _CANCELLED = range(7)


class Error(ctypes.Structure):
    """dpa_error of status.h."""

    _fields_ = [("status", ctypes.c_int), ("place", ctypes.c_char * 512), ("text", ctypes.c_char * 512)]


class Progress(ctypes.Structure):
    """dpa_progress of status.h."""

    CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double, ctypes.c_double)
    _fields_ = [("call", CALL), ("user", ctypes.c_void_p)]


def _candidates():
    """Where the library may be, in the order in which we look."""
    named = os.environ.get("DPAUDIT_LIBRARY")
    if named:
        yield named
        return
    here = Path(__file__).resolve().parent
    yield here / "libdpaudit.so"
    for preset in ("release", "dev"):
        yield here.parent.parent / "build" / preset / "lib" / "libdpaudit.so"
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


def declare(name: str, *arguments) -> None:
    """Give `lib.name` its argument types; every declared call returns a dpa_status and takes a dpa_error last."""
    function = getattr(lib, name)
    function.argtypes = [*arguments, ctypes.POINTER(Error)]
    function.restype = ctypes.c_int


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


def call(name: str, *arguments) -> None:
    """Call a declared function; a failure becomes an exception with the library's own words."""
    err = Error()
    if getattr(lib, name)(*arguments, ctypes.byref(err)) != _STATUS_OK:
        raise _exception(err)


lib.dpa_version.restype = ctypes.c_char_p
lib.dpa_free.argtypes = [ctypes.c_void_p]
lib.dpa_free.restype = None
declare("dpa_request_new", ctypes.POINTER(ctypes.c_void_p))
declare("dpa_request_set", ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


def take_text(name: str, handle) -> str:
    """The string that a function `dpa_x(handle, char **out, err)` gives."""
    out = ctypes.c_void_p()
    call(name, handle, ctypes.byref(out))
    try:
        return ctypes.string_at(out.value).decode("utf-8")
    finally:
        lib.dpa_free(out)


class Request:
    """A dpa_request, filled by the names of the command-line options; freed with its block."""

    def __init__(self, **options):
        self.handle = ctypes.c_void_p()
        call("dpa_request_new", ctypes.byref(self.handle))
        try:
            for key, value in options.items():
                self._set(key.replace("_", "-"), value)
        except BaseException:
            self.close()
            raise

    def _set(self, key, value):
        if value is None:
            return
        if key == "sides":
            key, value = ("one-sided" if value == 1 else "two-sided" if value == 2 else "sides"), ""
        text = repr(float(value)) if isinstance(value, float) else str(value)
        call("dpa_request_set", self.handle, key.encode(), text.encode())

    def close(self):
        lib.dpa_free(self.handle)
        self.handle = None

    def __enter__(self):
        return self.handle

    def __exit__(self, *exc):
        self.close()
