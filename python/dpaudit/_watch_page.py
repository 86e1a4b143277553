# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a watch: the headline, a picture of all numbers with their intervals, the table. Nothing from outside."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._watch_checks import Check
    from ._watch_result import Result

_WIDTH, _LABELS, _ROW, _REACH = 720, 190, 26, math.log(4.0)
_COLOURS = {"defect": "#c0392b", "as promised": "#1f8a5b", "explained": "#9a6b00", "not checked": "#888888"}
_DIFFERENCES = ("noise is fresh",)  # numbers that should be 0, not 1


def _x(value: float) -> float:
    """A ratio on a logarithmic axis from 1/4 to 4, promised in the middle; what lies outside stays at the edge."""
    middle, half = (_LABELS + _WIDTH - 20) / 2.0, (_WIDTH - 20 - _LABELS) / 2.0
    place = math.log(value) / _REACH if value > 0.0 else -1.0
    return middle + half * min(max(place, -1.0), 1.0)


def _mark(check: "Check", y: float) -> str:
    colour = _COLOURS[check.state]
    label = f'<text x="{_LABELS - 10}" y="{y + 4:.0f}" text-anchor="end">{escape(check.name)}</text>'
    if check.ratio is None or check.name in _DIFFERENCES:
        said = check.state if check.ratio is None else f"{check.ratio:.3f} (promised 0): {check.state}"
        return label + f'<text x="{_x(1.0):.0f}" y="{y + 4:.0f}" text-anchor="middle" fill="{colour}">{escape(said)}</text>'
    low, high = check.interval or (check.ratio, check.ratio)
    title = f"<title>{escape(check.what)}: {check.ratio:.3f} [{low:.3f}, {high:.3f}], {check.state}</title>"
    bar = f'<rect x="{_x(low):.1f}" y="{y - 4:.1f}" width="{max(_x(high) - _x(low), 2):.1f}" height="8" fill="{colour}" opacity="0.35"/>'
    x = _x(check.ratio)
    shape = (
        f'<path d="M{x - 6:.1f} {y - 6:.1f}L{x + 6:.1f} {y + 6:.1f}M{x - 6:.1f} {y + 6:.1f}L{x + 6:.1f} {y - 6:.1f}" stroke="{colour}" stroke-width="3"/>'
        if check.state == "defect"
        else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    )
    return f"<g>{title}{label}{bar}{shape}</g>"


def picture(result: "Result") -> str:
    """All numbers on one axis of "× promised": a circle as promised, a cross for a defect."""
    bottom = 30 + _ROW * len(result.checks)
    parts = []
    for ratio in (0.25, 0.5, 1.0, 2.0, 4.0):
        dash = "" if ratio == 1.0 else ' opacity="0.15"'
        parts.append(f'<line x1="{_x(ratio):.1f}" y1="20" x2="{_x(ratio):.1f}" y2="{bottom}" stroke="currentColor"{dash}/>')
        parts.append(f'<text x="{_x(ratio):.1f}" y="14" text-anchor="middle">{ratio:g} ×</text>')
    parts += [_mark(check, 30 + _ROW * (i + 0.5)) for i, check in enumerate(result.checks)]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {bottom + 6}" width="{_WIDTH}" style="max-width:100%;height:auto" role="img" '
        f'aria-label="numbers of all checks against what was promised" font-family="sans-serif" font-size="12" '
        f'fill="currentColor" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def body(result: "Result") -> str:
    colour = _COLOURS["as promised" if result.ok else "defect"]
    return (
        f'<div style="max-width:60rem"><p style="border-left:6px solid {colour};padding-left:.8rem"><strong>{escape(result.headline)}</strong></p>'
        f'{picture(result)}<pre style="line-height:1.3;white-space:pre-wrap">{escape(result.table(full=True))}</pre></div>'
    )


def page(result: "Result") -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>dpaudit watch: {'as promised' if result.ok else 'defect'}</title>"
        "<style>:root{color-scheme:light dark}body{font-family:sans-serif;margin:2rem}</style></head>"
        f"<body><h1>Watched training</h1>{body(result)}</body></html>\n"
    )
