# SPDX-License-Identifier: GPL-3.0-or-later
"""The code on docs/python.md, in the tutorial for notebooks and in python/README.md runs, from top to bottom, as it stands there."""

import inspect
import re

import pytest

import dpaudit


def blocks(path):
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text[: found.start()].count("\n") + 2, found.group(1)


def test_page(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, count = {}, 0
    for line, code in blocks(source / "docs" / "python.md"):
        exec(compile("\n" * (line - 1) + code, "docs/python.md", "exec"), names)
        count += 1
    assert count >= 8
    assert {path.name for path in tmp_path.iterdir()} == {"audit.html", "canaries.state", "steps.npz"}


def test_tutorial(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for line, code in blocks(source / "docs" / "tutorials" / "researcher.md"):
        exec(compile("\n" * (line - 1) + code, "researcher.md", "exec"), names)
    assert names["report"].refuted


def test_every_function_is_on_the_page(source):
    text = (source / "docs" / "python.md").read_text(encoding="utf-8")
    missing = [name for name in dpaudit.__all__ if not re.search(rf"\b{name}\b", text)]
    assert missing == []


def public():
    """Every function, class and method that a user may call, with its full name."""
    for name in dpaudit.__all__:
        thing = getattr(dpaudit, name)
        inner = getattr(thing, "__all__", ()) if inspect.ismodule(thing) else ()
        for full, found in [(name, thing)] + [(f"{name}.{word}", getattr(thing, word)) for word in inner]:
            if callable(found):
                yield full, found
            if inspect.isclass(found):
                own = [word for word in vars(found) if not word.startswith("_") and callable(getattr(found, word))]
                yield from ((f"{full}.{word}", getattr(found, word)) for word in own)


def test_every_parameter_is_explained():
    missing, seen = [], 0
    for name, thing in public():
        try:
            parameters = [p for p in inspect.signature(thing).parameters if p not in ("self", "cls")]
        except ValueError:  # of ctypes and exceptions
            continue
        text = inspect.getdoc(thing) or ""
        missing += [f"{name}({word})" for word in parameters if not re.search(rf"(?<!\w){word}(?!\w)", text)]
        missing += [] if text else [name]
        seen += len(parameters)
    assert missing == []
    assert seen > 350


def test_readme(source):
    ((_, code),) = blocks(source / "python" / "README.md")
    with pytest.raises(dpaudit.Refuted):
        exec(code, {})
