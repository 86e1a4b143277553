# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as objects: fields as in the JSON, a table, a page, a picture in Jupyter."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

from ._library import call, declare, lib, take_text

_VEGA_LITE = "application/vnd.vegalite.v5+json"

lib.dpa_report_free.argtypes = [ctypes.c_void_p]
lib.dpa_report_free.restype = None
lib.dpa_report_refuted.argtypes = [ctypes.c_void_p]
lib.dpa_report_refuted.restype = ctypes.c_int
for _name in ("dpa_report_json", "dpa_report_html", "dpa_report_charts", "dpa_report_headline"):
    declare(_name, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
declare("dpa_report_text", ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class Refuted(AssertionError):
    """Raised by `Report.check`: a valid bound exceeds the claim."""


class Record:
    """A JSON object with its keys as attributes.

    >>> Record({"lower": 1.0}).lower
    1.0
    """

    def __init__(self, fields: dict):
        self._fields = fields

    def __getattr__(self, name):
        try:
            return _wrap(self.__dict__["_fields"][name])
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self):
        return [*super().__dir__(), *self._fields]

    def __repr__(self):
        return f"Record({self._fields!r})"

    def __eq__(self, other):
        return isinstance(other, Record) and self._fields == other._fields

    def to_dict(self) -> dict:
        return self._fields


def _wrap(value):
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value


class Report(Record):
    """What an audit found. Fields as in the command's JSON: `results`, `verdict`, `evidence`, `delta`, …"""

    def __init__(self, handle: ctypes.c_void_p):
        self._handle = handle
        super().__init__(json.loads(take_text("dpa_report_json", handle)))

    def __del__(self):
        handle = self.__dict__.get("_handle")
        if handle:
            lib.dpa_report_free(handle)

    @property
    def refuted(self) -> bool:
        """Does a valid bound exceed the claim?"""
        return bool(lib.dpa_report_refuted(self._handle))

    @property
    def headline(self) -> str:
        return take_text("dpa_report_headline", self._handle)

    def table(self) -> str:
        """The text that the command prints."""
        out = ctypes.c_void_p()
        call("dpa_report_text", self._handle, None, ctypes.byref(out))
        try:
            return ctypes.string_at(out.value).decode("utf-8")
        finally:
            lib.dpa_free(out)

    def charts(self) -> list:
        """Vega-Lite charts: dictionaries with id, title, alternative and spec."""
        return json.loads(take_text("dpa_report_charts", self._handle))

    def report(self, path) -> Path:
        """Write the page for a browser; gives its path."""
        path = Path(path)
        path.write_text(take_text("dpa_report_html", self._handle), encoding="utf-8")
        return path

    def check(self) -> "Report":
        """Raise `Refuted` when the claim is refuted, for use in tests; else give the report back."""
        if self.refuted:
            raise Refuted(self.headline)
        return self

    def __repr__(self):
        return f"<dpaudit.Report {self.command}: {self.headline}>"

    def __str__(self):
        return self.table()

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = {"text/plain": self.table()}
        charts = self.charts()
        if charts:
            spec = dict(charts[0]["spec"])
            spec["$schema"] = "https://vega.github.io/schema/vega-lite/v5.json"
            bundle[_VEGA_LITE] = spec
        return bundle


def run(function: str, *arguments) -> Report:
    """Call `function(*arguments, dpa_report **out, err)` and wrap what it gives."""
    handle = ctypes.c_void_p()
    call(function, *arguments, ctypes.byref(handle))
    return Report(handle)
