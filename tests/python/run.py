# SPDX-License-Identifier: GPL-3.0-or-later
"""run.py FILE: one file of tests under pytest, for ctest: exit 77 when every test was skipped or pytest is not here."""

import sys

try:
    import pytest
except ImportError:
    print("SKIPPED: this Python has no pytest (Debian: python3-pytest)", sys.executable)
    sys.exit(77)
for needed in ("numpy", "hypothesis"):
    try:
        __import__(needed)
    except ImportError:
        print(f"SKIPPED: this Python has no {needed} (Debian: python3-{needed})", sys.executable)
        sys.exit(77)


class Counter:
    passed = 0

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed


counter = Counter()
code = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[counter])
if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and counter.passed == 0:
    code = 77
sys.exit(int(code))
