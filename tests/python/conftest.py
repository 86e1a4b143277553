# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the Python package share. ctest gives PYTHONPATH, DPAUDIT_LIBRARY and DPAUDIT."""

import json
import locale
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
if not any(Path(path).resolve() == SOURCE / "python" for path in sys.path if path):
    sys.path.insert(0, str(SOURCE / "python"))

# A shell without job control ignores Ctrl-C for what it starts in the background, and Python then leaves it ignored.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As a notebook may: numbers of the host program have a comma.
if "DPA_TEST_LOCALE" in os.environ:
    locale.setlocale(locale.LC_ALL, os.environ["DPA_TEST_LOCALE"])
    assert locale.localeconv()["decimal_point"] == ",", os.environ["DPA_TEST_LOCALE"]

try:
    from hypothesis import settings

    settings.register_profile("tests", deadline=None, max_examples=40, derandomize=True, database=None)
    settings.load_profile("tests")
except ImportError:
    pass


@pytest.fixture(scope="session")
def source():
    return SOURCE


@pytest.fixture(scope="session")
def command():
    """Runs the command with --json and gives what it says, without the command line and the files that made it."""
    program = os.environ.get("DPAUDIT", str(SOURCE / "build" / "release" / "bin" / "dpaudit"))

    def run(*words):
        done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True)
        assert done.returncode in (0, 1, 5), done.stderr
        return without_origin(json.loads(done.stdout))

    return run


def without_origin(fields):
    fields = dict(fields)
    fields.pop("provenance", None)
    fields.pop("sha256", None)  # it covers the provenance
    if "evidence" in fields:
        fields["evidence"] = {key: value for key, value in fields["evidence"].items() if key != "sha256"}
    for model in fields.get("epsilon_star", {}).get("models", []):
        model.pop("name", None)
    return fields


@pytest.fixture(scope="session")
def plain():
    """The fields of a report, to be compared with what the command says."""
    return lambda report: without_origin(report.to_dict())
