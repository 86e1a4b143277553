# SPDX-License-Identifier: GPL-3.0-or-later
"""Results as objects: fields as in the JSON, a table, a page, a picture in Jupyter."""

from __future__ import annotations

import ctypes
import functools
import json
import math
import os
from pathlib import Path
from typing import Any, Iterator, Optional, Union

from ._library import Handle, Stop, call, call_interruptibly, declare, declare_free, lib, take_text
from ._picture import report_html

_VEGA_LITE = "application/vnd.vegalite.v5+json"

free_report = declare_free("dpa_report_free")
lib.dpa_report_state.argtypes = [ctypes.c_void_p]
lib.dpa_report_state.restype = ctypes.c_int
lib.dpa_state_name.argtypes = [ctypes.c_int]
lib.dpa_state_name.restype = ctypes.c_char_p
for _name in ("dpa_report_json", "dpa_report_html", "dpa__report_charts", "dpa_report_headline"):
    declare(_name, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
declare("dpa_report_text", ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


def write_text(path: Union[str, "os.PathLike[str]"], text: str) -> Path:
    """Write a file that is whole or not there; gives its path."""
    target = Path(path)
    part = target.with_name(target.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return target


class Refuted(AssertionError):
    """Raised by `Report.check`: the claim is refuted."""


class Inconclusive(AssertionError):
    """Raised by `Report.check`: the audit can say nothing about the claim."""


class Record:
    """A JSON object with its keys as attributes. A number that JSON cannot hold (null with "…_infinite": true) is inf.

    >>> record = Record({"lower": 1.0, "upper": None, "upper_infinite": True})
    >>> record.lower, record.upper, "sides" in record
    (1.0, inf, False)
    """

    _fields: dict[str, Any]

    def __init__(self, fields: dict[str, Any]):
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copy, pickle and the like: not ours, and not worth the JSON
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{name}: there are {', '.join(self._fields)}") from None

    def __getitem__(self, name: str) -> Any:
        value = self._fields[name]
        if value is None and self._fields.get(f"{name}_infinite"):
            return math.inf
        return _wrap(value)

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return f"Record({self._fields!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain dictionaries and lists, exactly as in the JSON."""
        copy: dict[str, Any] = json.loads(json.dumps(self._fields))
        return copy


def _wrap(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value


class Report(Record):
    """What an audit found. Fields as in the command's JSON: `results`, `verdict`, `evidence`, `delta`, …

    Arguments:
        handle: of the library's report: reports are made by the audits, not by hand.

    >>> from dpaudit import counts
    >>> report = counts(fn=1, tp=99, fp=2, tn=98, claim_epsilon=1.0)
    >>> report.evidence.tp, report.delta, report.refuted
    (99, 1e-05, True)
    >>> report.check()
    Traceback (most recent call last):
    ...
    dpaudit._report.Refuted: ...
    """

    def __init__(self, handle: Handle):
        self._handle = handle

    @functools.cached_property
    def _fields(self) -> dict[str, Any]:  # type: ignore[override]
        fields: dict[str, Any] = json.loads(self.to_json())
        return fields

    def to_json(self) -> str:
        """The text that the command gives with --json, without the command line that made it."""
        return take_text("dpa_report_json", self._handle.pointer)

    @property
    def state(self) -> str:
        """What the test that decides says: "refuted", "not-refuted", "inconclusive" or "no-claim"."""
        name: bytes = lib.dpa_state_name(lib.dpa_report_state(self._handle.pointer))
        return name.decode()

    @property
    def refuted(self) -> bool:
        """Is the claim refuted?"""
        return self.state == "refuted"

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        return take_text("dpa_report_headline", self._handle.pointer)

    def table(self) -> str:
        """The text that the command prints."""
        return take_text("dpa_report_text", self._handle.pointer, None)

    def charts(self) -> list[dict[str, Any]]:
        """Vega-Lite charts: dictionaries with id, title, alternative and spec."""
        made: list[dict[str, Any]] = json.loads(take_text("dpa__report_charts", self._handle.pointer))
        return made

    def report(self, path: Union[str, "os.PathLike[str]"]) -> Path:
        """Write the page for a browser; gives its path."""
        return write_text(path, take_text("dpa_report_html", self._handle.pointer))

    def check(self, inconclusive: bool = False) -> "Report":
        """For tests: raise `Refuted` when the claim is refuted and `Inconclusive` when nothing can be said about it
        (unless inconclusive=True lets that pass); else give the report back."""
        if self.refuted:
            raise Refuted(self.headline)
        if self.state == "inconclusive" and not inconclusive:
            raise Inconclusive(self.headline)
        return self

    def __repr__(self) -> str:
        return f"<dpaudit.Report {self.command}: {self.headline}>"

    def __str__(self) -> str:
        return self.table()

    def __copy__(self) -> "Report":
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> "Report":
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a Report lives in the library and cannot be pickled; pickle its to_dict()")

    def _repr_html_(self) -> str:
        """Verdict, bounds as a picture and table, for notebooks that do not draw Vega-Lite."""
        return report_html(self._fields, self.table())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The table; where there is a chart, the chart with the table above it (Jupyter shows one form only)."""
        table = self.table()
        bundle: dict[str, Any] = {"text/plain": table}
        charts = self.charts()
        if charts:
            spec = dict(charts[0]["spec"])
            spec["$schema"] = "https://vega.github.io/schema/vega-lite/v5.json"
            lines = table.rstrip().split("\n")
            spec["title"] = {
                "text": charts[0]["title"],
                "subtitle": lines,
                "subtitleFont": "monospace",
                "anchor": "start",
                "align": "left",
            }
            bundle[_VEGA_LITE] = spec
        return bundle


def run(function: str, *arguments: Any) -> Report:
    """Call `function(*arguments, dpa_report **out, err)`, which is quick, and wrap what it gives."""
    handle = Handle(free_report)
    call(function, *arguments, ctypes.byref(handle.pointer))
    return Report(handle)


def run_long(function: str, *arguments: Any, request: Optional[Handle] = None, keep: Any = None) -> Report:
    """The same for what may take long: Ctrl-C ends it. A request is the last argument before the report."""
    handle, stop = Handle(free_report), Stop()
    if request is not None:
        lib.dpa__request_progress(request.pointer, stop.pointer)
        arguments = (*arguments, request.pointer)
    call_interruptibly(stop, (keep, request, handle), function, *arguments, ctypes.byref(handle.pointer))
    return Report(handle)
