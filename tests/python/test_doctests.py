# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in the docstrings run, and every public name has one and has types."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess

import pytest

import dpaudit

MODULES = ["dpaudit", *(f"dpaudit.{module.name}" for module in pkgutil.iter_modules(dpaudit.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def test_types(source):
    mypy = shutil.which("mypy", path="/usr/bin:" + os.environ.get("PATH", ""))
    if mypy is None:
        pytest.skip("mypy is not installed")
    words = [mypy, "--strict", "--python-version", "3.9", "--cache-dir", os.devnull, "dpaudit"]
    done = subprocess.run(words, cwd=source / "python", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", dpaudit.__all__)
def test_public_names_are_explained_and_typed(name):
    thing = getattr(dpaudit, name)
    assert thing.__doc__ and len(thing.__doc__) > 40
    if inspect.isfunction(thing):
        assert ">>>" in thing.__doc__
        signature = inspect.signature(thing)
        given = {"model_losses": "Any", "run": "Run"}.get(name, "Report")  # an array of numpy
        assert signature.return_annotation.strip("\"'") in (given, "Watch")
        assert all(parameter.annotation is not inspect.Parameter.empty for parameter in signature.parameters.values())


@pytest.mark.parametrize("name", ["counts", "scores", "one_run", "one_run_ideal", "cosines"])
def test_every_argument_is_explained(name):
    function = getattr(dpaudit, name)
    explained = set(re.findall(r"^    (\w+): \S", inspect.getdoc(function), re.MULTILINE))
    assert set(inspect.signature(function).parameters) <= explained
