# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts libdpaudit.so into the package: the one that DPAUDIT_LIBRARY names, or the one of the build tree, or a new one
that CMake builds. Everything else is in pyproject.toml."""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent


def existing_library():
    named = os.environ.get("DPAUDIT_LIBRARY")
    if named:
        if not Path(named).exists():
            raise SystemExit(f"DPAUDIT_LIBRARY: {named} is not there")
        return Path(named)
    built = SOURCE / "build" / "release" / "lib" / "libdpaudit.so"
    return built if built.exists() else None


def build_library(folder):
    if not (SOURCE / "CMakeLists.txt").exists():
        raise SystemExit("no libdpaudit.so and no source to build it from: install it and set DPAUDIT_LIBRARY to its path")
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            raise SystemExit(f"{tool} is needed to build libdpaudit (scripts/install-deps installs what is missing)")
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DDPA_TESTS=OFF", "-DDPA_BENCH=OFF", "-DDPA_FUZZ=OFF"]
    subprocess.run(["cmake", "-G", "Ninja", "-S", str(SOURCE), "-B", str(folder), *options], check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "dpaudit"], check=True)
    return folder / "lib" / "libdpaudit.so"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        temporary = Path(self.get_finalized_command("build").build_temp).resolve() / "libdpaudit"
        library = existing_library() or build_library(temporary)
        shutil.copyfile(library.resolve(), Path(self.build_lib) / "dpaudit" / "libdpaudit.so")


class PlatformDistribution(Distribution):
    """Not for every platform: there is a library inside."""

    def has_ext_modules(self):
        return True


commands = {"build_py": BuildWithLibrary}
try:
    from wheel.bdist_wheel import bdist_wheel

    class AnyPython(bdist_wheel):
        """The library knows nothing of Python, so one wheel serves every version."""

        def get_tag(self):
            return ("py3", "none", super().get_tag()[2])

    commands["bdist_wheel"] = AnyPython
except ImportError:
    pass

setup(cmdclass=commands, distclass=PlatformDistribution)
