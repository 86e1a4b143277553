# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a watch: the primary test, the battery, and every form they are shown in.

The error 1 − confidence is shared beforehand: 0.2 of it for the battery, the rest for the primary test, which alone may
refute the claim. A defect is a defect: too much noise or a clip norm that is too small breaks no promise of privacy.
"""

from __future__ import annotations

import json
import math
import os
from html import escape
from pathlib import Path
from typing import Any, Optional, Union
from xml.sax.saxutils import quoteattr

from ._account import account
from ._audit import scores
from ._judge import Claim
from ._report import Refuted, Report, write_text
from ._watch import Promise, Defect
from ._watch_checks import Check, battery
from ._watch_record import Record

BATTERY_SHARE = 0.2
_FEWEST = 10  # observations of each kind, below which the primary test is not made
Place = tuple[str, int]
PathLike = Union[str, "os.PathLike[str]"]


class Result:
    """What a watch found. `defects`: failed checks in words, the cause first; `refuted`: the primary test's verdict."""

    def __init__(self, claim: Promise, record: Record, asked: list[dict[str, Any]], places: dict[str, Optional[Place]]) -> None:
        error = 1.0 - claim.confidence
        self.claim, self.steps, self.looks = claim, record.steps, record.looks
        self.checks: list[Check] = battery(claim, record, asked, BATTERY_SHARE * error)
        self.primary = _primary(claim, record, 1.0 - (1.0 - BATTERY_SHARE) * error)
        self._places = places
        self._by_name = {check.name: check for check in self.checks}
        self.epsilon = self._done(record)

    # ── verdict ───────────────────────────────────────────────────────────────────────────────────

    @property
    def defects(self) -> list[Check]:
        return [check for check in self.checks if check.state == "defect"]

    @property
    def refuted(self) -> bool:
        """Does the primary test refute the claim? Never because of too much noise."""
        return self.primary is not None and self.primary.refuted

    @property
    def ok(self) -> bool:
        return not self.defects and not self.refuted

    @property
    def headline(self) -> str:
        promised = f"ε = {self.claim.epsilon:.3g} (δ = {self.claim.delta:g}) was promised"
        if self.defects:
            words = "; ".join(check.words for check in self.defects)
            return f"Defect: {words}. {promised}; {self._epsilon_words()}."
        if self.refuted:
            return f"Refuted: a step leaks more than promised, and no check says why. {promised}."
        return f"As promised, as far as {self.looks} steps show: no defect. {promised}. The checks say what they would have seen."

    def _epsilon_words(self) -> str:
        if self.epsilon is None:
            return "what was done has no ε of its own while this stands"
        if math.isinf(self.epsilon):
            return "what was done has no finite ε"
        return f"what was done gives ε = {self.epsilon:.3g}"

    def _done(self, record: Record) -> Optional[float]:
        """The accountant fed with what was measured: noise, rate and steps. None where that would say too little."""
        noise, tensors, rate = (self._by_name[name] for name in ("noise", "noise per tensor", "inclusion rate"))
        if any(self._by_name[name].state == "defect" for name in ("noise is fresh", "clipping", "over-long canaries", "scale", "sampling")):
            return None
        ratio = noise.ratio if noise.state in ("defect", "explained") and noise.ratio is not None else 1.0
        if tensors.state == "defect" and tensors.ratio is not None:
            ratio = min(ratio, tensors.ratio)
        q = self.claim.q * (rate.ratio or 1.0) if rate.state == "defect" else self.claim.q
        sigma = self.claim.sigma * ratio
        if sigma < 0.02:
            return math.inf
        count = max(record.steps, self.claim.steps)
        made = account(sigma, min(q, 1.0), count, self.claim.delta, adjacency=self.claim.adjacency)
        return float(made.epsilon.lower)

    def check(self) -> "Result":
        """Raise when something is wrong, for use in tests; else give the result back."""
        __tracebackhide__ = True  # pytest shows the message, not this line
        if self.defects:
            raise Defect(self.table())
        if self.refuted:
            raise Refuted(self.table())
        return self

    def place(self, check: Check) -> Optional[Place]:
        """File and line to look at."""
        return self._places.get(check.look) or self._places.get("noise")

    # ── forms ─────────────────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        return f"<dpaudit.Watch result: {self.headline}>"

    def __str__(self) -> str:
        return self.table()

    def table(self, full: Optional[bool] = None) -> str:
        """The headline, the checks, the primary test. `full`: all checks (default: all only when nothing is wrong)."""
        full = self.ok if full is None else full
        shown = [check for check in self.checks if full or check.state in ("defect", "explained")]
        lines = [self.headline, ""]
        if shown:
            lines.append(f"{'check':20} {'verdict':13} {'number':>8}  {'interval':19} what")
        for check in shown:
            lines.append(_row(check))
            if check.state == "defect":
                place = self.place(check)
                lines.append(f"{'':20} → {check.words}" + (f"; look at {place[0]}:{place[1]}" if place else ""))
            elif check.would and check.state != "explained":
                prefix = "" if check.state == "not checked" else "would have seen: "
                lines.append(f"{'':20}   {prefix}{check.would}")
        if len(shown) < len(self.checks):
            good = sum(check.state == "as promised" for check in self.checks)
            lines.append(f"{good} other checks are as promised, {len(self.checks) - len(shown) - good} could not be made: table(full=True)")
        lines += ["", f"Joint confidence {self.claim.confidence:g}: {BATTERY_SHARE:g} of the error for these checks (Holm), the rest for the primary test."]
        if self.primary is None:
            lines.append("Primary test: too few steps with a gradient to tell from its absence.")
        else:
            lines.append(f"Primary test, one step with an example in it: {self.primary.headline}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "headline": self.headline,
            "ok": self.ok,
            "refuted": self.refuted,
            "claim": {k: v for k, v in vars(self.claim).items() if k not in ("limits",)},
            "epsilon": {"promised": self.claim.epsilon, "done": _finite(self.epsilon), "done_infinite": self.epsilon == math.inf},
            "steps": self.steps,
            "steps_looked_at": self.looks,
            "confidence": self.claim.confidence,
            "battery_share": BATTERY_SHARE,
            "checks": [self._fields(check) for check in self.checks],
            "primary": None if self.primary is None else self.primary.to_dict(),
        }

    def _fields(self, check: Check) -> dict[str, Any]:
        place = self.place(check)
        return {
            "name": check.name,
            "state": check.state,
            "number": _finite(check.ratio),
            "what": check.what,
            "lower": _finite(check.interval[0]) if check.interval else None,
            "upper": _finite(check.interval[1]) if check.interval else None,
            "p_value": check.p,
            "p_value_holm": check.adjusted,
            "defect": check.words if check.state == "defect" else None,
            "would_detect": check.would or None,
            "file": place[0] if place else None,
            "line": place[1] if place else None,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def annotations(self) -> list[dict[str, Any]]:
        """Defects (or a refuted claim that none explains) as check annotations of code hosts: path, start_line, end_line, annotation_level, title, message."""
        found = [(check, check.words) for check in self.defects]
        if self.refuted and not found:
            found = [(Check("primary test", look="noise"), "a step leaks more than promised, and no check says why")]
        made = []
        for check, words in found:
            path, line = self.place(check) or ("", 1)
            made.append(
                {
                    "path": path,
                    "start_line": line,
                    "end_line": line,
                    "annotation_level": "failure",
                    "title": f"dpaudit: {check.name}",
                    "message": f"{words}. {self._epsilon_words()}; promised {self.claim.epsilon:.3g}.",
                }
            )
        return made

    def junit(self, path: PathLike) -> Path:
        """Write one test case per check, for tools that read JUnit's XML."""
        cases = []
        failures = skipped = 0
        for check in self.checks:
            inner = ""
            if check.state == "defect":
                failures += 1
                inner = f"<failure message={quoteattr(check.words)}>{escape(self.headline)}</failure>"
            elif check.state == "not checked":
                skipped += 1
                inner = f"<skipped message={quoteattr(check.would)}/>"
            cases.append(f'<testcase classname="dpaudit.watch" name={quoteattr(check.name)}>{inner}</testcase>')
        inner = f"<failure message={quoteattr(self.headline)}/>" if self.refuted else ""
        failures += self.refuted
        cases.append(f'<testcase classname="dpaudit.watch" name="primary test">{inner}</testcase>')
        text = (
            f'<?xml version="1.0" encoding="utf-8"?>\n<testsuite name="dpaudit.watch" tests="{len(cases)}" '
            f'failures="{failures}" errors="0" skipped="{skipped}">\n' + "\n".join(cases) + "\n</testsuite>\n"
        )
        return write_text(path, text)

    def report(self, path: PathLike) -> Path:
        """Write the page for a browser: verdict, picture, table."""
        from ._watch_page import page

        return write_text(path, page(self))

    def _repr_html_(self) -> str:
        from ._watch_page import body

        return body(self)


def _row(check: Check) -> str:
    number = "" if check.ratio is None else f"{check.ratio:.3f}"
    interval = "" if check.interval is None else f"[{check.interval[0]:.3f}, {check.interval[1]:.3f}]"
    state = "DEFECT" if check.state == "defect" else check.state
    return f"{check.name:20} {state:13} {number:>8}  {interval:19} {check.what}"


def _finite(value: Optional[float]) -> Optional[float]:
    return float(value) if value is not None and math.isfinite(value) else None


def _primary(claim: Promise, record: Record, confidence: float) -> Optional[Report]:
    """Rank test on one step with an example in it: N(1, σ²) against N(0, σ²) at best, when the claim holds."""
    if min(len(record.members), len(record.nonmembers)) < _FEWEST:
        return None
    return scores(
        record.members,
        record.nonmembers,
        claim.delta,
        confidence=confidence,
        family="gaussian",
        method="rank",
        claim=Claim(sigma=claim.sigma, scope="step"),
        scope="step",
    )
