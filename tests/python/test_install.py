# SPDX-License-Identifier: GPL-3.0-or-later
"""pip installs the package with the library inside, and it works from there alone."""

import os
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("pip", reason="this Python has no pip (Debian: python3-pip)")
pytest.importorskip("wheel", reason="this Python has no wheel (Debian: python3-wheel)")


def run(*words, cwd, **environment):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment}, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_pip_install(source, tmp_path):
    package = tmp_path / "python"
    subprocess.run(["cp", "-r", str(source / "python"), str(package)], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", "wheels", "./python", cwd=tmp_path)
    (wheel,) = (tmp_path / "wheels").glob("dpaudit-*-py3-none-linux_*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"dpaudit/libdpaudit.so", "dpaudit/py.typed", "dpaudit/__init__.py"} <= names
    run(*pip, "install", "--no-deps", "--no-index", "--target", "site", str(wheel), cwd=tmp_path)
    code = "import dpaudit; print(dpaudit.__file__, dpaudit._lib._name, dpaudit.counts(1, 99, 2, 98).results[0].guarantee)"
    environment = {"PYTHONPATH": str(tmp_path / "site")}
    inside = dict(os.environ)
    inside.pop("DPAUDIT_LIBRARY", None)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env={**inside, **environment})
    file, library, kind = done.stdout.split()
    assert kind == "confidence"
    assert str(tmp_path / "site") in file and library == str(tmp_path / "site" / "dpaudit" / "libdpaudit.so")
