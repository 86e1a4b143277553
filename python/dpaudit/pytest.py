# SPDX-License-Identifier: GPL-3.0-or-later
"""A plugin for pytest: the fixture `dpaudit_watch`, which is `dpaudit.watch` with the confidence of the command line.

    def test_my_training(dpaudit_watch):
        watch = dpaudit_watch(private_sum, sigma=1.0, clip_norm=1.0, q=0.05, steps=400, records=2000)
        train(private_sum=watch)

Every watch is checked when the test ends: a defect fails it, the defect first, then ε. Installed with the package; from
the build tree: `pytest -p dpaudit.pytest`. Options: --dpaudit-confidence, --dpaudit-annotations FILE. With --junitxml
every check is a property of the test case.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Callable

import pytest

from ._watch import watch

_NOTES = pytest.StashKey[list[dict[str, Any]]]()


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("dpaudit")
    group.addoption(
        "--dpaudit-confidence",
        type=float,
        default=0.999,
        metavar="C",
        help="joint confidence of every watched training (0.999: a correct one fails once in a thousand runs)",
    )
    group.addoption(
        "--dpaudit-annotations",
        metavar="FILE",
        help="write the defects as check annotations for code hosts (JSON: path, start_line, title, message)",
    )


def pytest_configure(config: Any) -> None:
    confidence = config.getoption("--dpaudit-confidence")
    if not 0.5 <= confidence < 1.0:
        raise pytest.UsageError(f"--dpaudit-confidence: {confidence} is not between 0.5 and 1")
    config.stash[_NOTES] = []


def pytest_sessionfinish(session: Any) -> None:
    path = session.config.getoption("--dpaudit-annotations")
    if path:
        text = json.dumps(session.config.stash[_NOTES], indent=2, ensure_ascii=False) + "\n"
        Path(path).write_text(text, encoding="utf-8")


def _check(item: Any, watches: list[Any]) -> None:
    __tracebackhide__ = True
    for one in watches:
        result = one.result()
        for check in result.checks:
            number = "" if check.ratio is None else f" {check.ratio:.4g}"
            item.user_properties.append((f"dpaudit {check.name}", f"{check.state}{number}"))
        item.config.stash[_NOTES].extend(result.annotations())
        result.check()


@pytest.fixture
def dpaudit_watch(request: Any) -> Callable[..., Any]:
    """`dpaudit.watch`, checked when the test ends: as a part of it, so that a defect is a failure of the test."""
    made: list[Any] = []
    test = request.node.obj

    @functools.wraps(test)
    def checked(*arguments: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        done = test(*arguments, **named)
        _check(request.node, made)
        return done

    def start(*arguments: Any, **named: Any) -> Any:
        named.setdefault("confidence", request.config.getoption("--dpaudit-confidence"))
        made.append(watch(*arguments, **named))
        return made[-1]

    request.node.obj = checked
    return start
