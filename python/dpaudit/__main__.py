# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m dpaudit`: the command, as installed with this package, or of the build tree, or on the PATH."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def program() -> str:
    """The compiled command."""
    here = Path(__file__).resolve().parent
    for path in (here / "bin" / "dpaudit", here.parent.parent / "build" / "release" / "bin" / "dpaudit"):
        if path.exists():
            return str(path)
    found = shutil.which("dpaudit")
    if found is None:
        sys.exit("dpaudit: the command is not there. Build it (scripts/build) or install a wheel that has it")
    return found


if __name__ == "__main__":
    os.execv(program(), ["dpaudit", *sys.argv[1:]])
