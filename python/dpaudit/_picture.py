# SPDX-License-Identifier: GPL-3.0-or-later
"""A report as a piece of HTML with its bounds as an SVG: for notebooks that do not draw Vega-Lite, and for exports of them.

No script, no style sheet, nothing from outside; `currentColor` follows light and dark themes.
"""

from html import escape
from math import floor, inf, isfinite, log10
from typing import Any, Optional

_LABELS, _WIDTH, _ROW = 220, 640, 24
_COLOURS = {"confidence": "#3b7dd8", "posterior": "#9b59c6", "optimistic": "#d2691e", "estimate": "#1f8a5b"}


def _ticks(largest: float) -> list[float]:
    step = 10.0 ** floor(log10(largest))
    while largest / step > 8:
        step *= 2
    while largest / step < 4:
        step /= 2
    return [i * step for i in range(int(largest / step) + 1)]


def _mark(standing: str, x: float, y: float) -> str:
    """Shapes as on the page: circle, square, triangle, diamond."""
    fill = f'fill="{_COLOURS[standing]}"'
    if standing == "confidence":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {fill}/>'
    points = {
        "posterior": ((-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)),
        "optimistic": ((0, -5.5), (5.5, 4.5), (-5.5, 4.5)),
        "estimate": ((0, -6), (6, 0), (0, 6), (-6, 0)),
    }[standing]
    return f'<polygon points="{" ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)}" {fill}/>'


def _number(value: Any) -> Optional[float]:
    return float(value) if isinstance(value, (int, float)) and isfinite(value) else None


def _row(result: dict[str, Any], y: float, scale: float) -> str:
    standing = str(result["guarantee"])
    lower, upper = _number(result.get("epsilon_lower")), _number(result.get("epsilon_upper"))
    shown = _number(result.get("epsilon"))
    at = shown if shown is not None else lower
    if at is None:
        return ""
    name = " · ".join(str(result[key]) for key in ("family", "method", "select") if result.get(key))
    left, right = (lower, upper) if upper is not None and lower is not None else (0.0, at)
    parts = [
        f'<text x="{_LABELS - 8}" y="{y + 4:.0f}" text-anchor="end">{escape(name[:40])}</text>',
        f'<rect x="{_LABELS + left * scale:.1f}" y="{y - 3:.1f}" width="{max(right - left, 0) * scale:.1f}" height="6" '
        f'fill="{_COLOURS[standing]}" opacity="0.35"/>',
        _mark(standing, _LABELS + at * scale, y),
        f"<title>{escape(name)}: {standing}, ε {'=' if shown is not None else '≥'} {at:.4g}</title>",
    ]
    return f"<g>{''.join(parts)}</g>"


def bounds_svg(results: list[dict[str, Any]], claim: Optional[float]) -> str:
    """All bounds on one axis of ε, the claim as a dashed line; "" where there is nothing to draw."""
    numbers = [_number(r.get(key)) for r in results for key in ("epsilon", "epsilon_lower", "epsilon_upper")]
    largest = max([n for n in (*numbers, claim) if n is not None], default=-inf)
    if not results or not largest > 0:
        return ""
    scale = (_WIDTH - _LABELS - 20) / largest
    bottom = _ROW * len(results) + 24
    parts = [_row(result, 24 + _ROW * (i + 0.5), scale) for i, result in enumerate(results)]
    for tick in _ticks(largest):
        x = _LABELS + tick * scale
        parts.append(f'<line x1="{x:.1f}" y1="22" x2="{x:.1f}" y2="{bottom}" stroke="currentColor" opacity="0.15"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>')
    if claim is not None:
        x = _LABELS + claim * scale
        parts.append(f'<line x1="{x:.1f}" y1="18" x2="{x:.1f}" y2="{bottom}" stroke="currentColor" stroke-dasharray="5 3"/>')
        parts.append(f'<text x="{x:.1f}" y="12" text-anchor="middle">claim</text>')
    words = f"{len(results)} result{'s' if len(results) != 1 else ''} on one axis of ε"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {bottom + 34}" width="{_WIDTH}" style="max-width:100%;height:auto" role="img" aria-label="{words}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor">{"".join(parts)}'
        f'<text x="{(_LABELS + _WIDTH) / 2:.0f}" y="{bottom + 29}" text-anchor="middle">ε</text></svg>'
    )


def report_html(fields: dict[str, Any], table: str) -> str:
    """The verdict, the picture, the table."""
    claim = _number(fields.get("verdict", {}).get("claim", {}).get("epsilon"))
    picture = bounds_svg(fields.get("results", []), claim)
    headline = fields.get("verdict", {}).get("headline", "")
    text = f'<pre style="line-height:1.25">{escape(table)}</pre>'
    if not picture:
        return text
    return (
        f'<div style="max-width:{_WIDTH}px"><p><strong>{escape(headline)}</strong></p>{picture}'
        f"<details><summary>All numbers</summary>{text}</details></div>"
    )
