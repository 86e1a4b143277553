# SPDX-License-Identifier: GPL-3.0-or-later
"""How pip builds dpaudit (PEP 517): CMake compiles and installs into a folder, this puts the folder and the Python files into a wheel.

Nothing but the standard library, so that a machine without a package index can build. `scripts/build-wheel` calls `main` below for a
wheel that also brings the shared libraries (bundle.py). Settings, as --config-settings or environment:

    DPAUDIT_BUILD   a CMake build tree to take instead of compiling a new one
"""

import argparse
import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent
EPOCH = (2020, 1, 1, 0, 0, 0)  # of every file in an archive: the same source gives the same bytes
SUMMARY = "Measure how much privacy a training pipeline really gives"
CMAKE_OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DDPA_TESTS=OFF", "-DDPA_BENCH=OFF", "-DDPA_FUZZ=OFF", "-DDPAUDIT_MPI=OFF",
                 "-DCMAKE_INSTALL_LIBDIR=lib"]

METADATA = """\
Metadata-Version: 2.1
Name: dpaudit
Version: {version}
Summary: {summary}
License: GPL-3.0-or-later
Classifier: Environment :: Console
Classifier: Intended Audience :: Science/Research
Classifier: License :: OSI Approved :: GNU General Public License v3 or later (GPLv3+)
Classifier: Operating System :: POSIX
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Security
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

{readme}"""

ENTRY_POINTS = "[pytest11]\ndpaudit = dpaudit.pytest\n"

# The command itself is a compiled program inside the package. Finding the package does not import it: 20 ms instead of 100.
COMMAND = """\
#!python
import importlib.util
import os
import sys

found = importlib.util.find_spec("dpaudit")
if found is None:
    sys.exit("dpaudit: the Python package is gone. Install it again: pip install --force-reinstall dpaudit")
program = os.path.join(os.path.dirname(found.origin), "bin", "dpaudit")
os.execv(program, ["dpaudit", *sys.argv[1:]])
"""


def version():
    text = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(dpaudit VERSION ([0-9.]+)", text).group(1)


def metadata():
    return METADATA.format(version=version(), summary=SUMMARY, readme=(HERE / "README.md").read_text(encoding="utf-8"))


# ── compiling ─────────────────────────────────────────────────────────────────────────────────────


def run(*words):
    if shutil.which(words[0]) is None:
        raise SystemExit(f"{words[0]} is needed to build dpaudit; docs/install.md lists what to install on each system")
    if subprocess.run([str(word) for word in words]).returncode != 0:
        raise SystemExit(f"'{words[0]} {words[1]}' failed, see above; docs/install.md lists what to install on each system")


def compiled(folder, settings):
    """A build tree: the one that was named, or a new one in `folder`."""
    named = (settings or {}).get("DPAUDIT_BUILD") or os.environ.get("DPAUDIT_BUILD")
    if named:
        if not (Path(named) / "CMakeCache.txt").exists():
            raise SystemExit(f"DPAUDIT_BUILD: {named} is no CMake build tree")
        return Path(named)
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run("cmake", *generator, "-S", SOURCE, "-B", folder, *CMAKE_OPTIONS)
    run("cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1))
    return folder


def installed(build, stage):
    """What `cmake --install` puts down, stripped."""
    run("cmake", "--install", build, "--prefix", stage, "--strip")
    if not any((stage / "lib").glob("libdpaudit.*")):
        raise SystemExit(f"{build} installs its libraries elsewhere than lib: configure it with -DCMAKE_INSTALL_LIBDIR=lib")
    return stage


# ── the wheel ─────────────────────────────────────────────────────────────────────────────────────


class Wheel:
    """A zip archive with a RECORD of all that is in it."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.info = f"dpaudit-{version()}.dist-info"
        self.data = f"dpaudit-{version()}.data"
        self.record = []

    def add(self, name, content, executable=False):
        content = content.encode() if isinstance(content, str) else content
        entry = zipfile.ZipInfo(name, EPOCH)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}\n")

    def add_tree(self, place, folder, wanted=lambda path: True):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and wanted(path):
                self.add(f"{place}/{path.relative_to(folder).as_posix()}", path.read_bytes(), os.access(path, os.X_OK))

    def close(self):
        name = f"{self.info}/RECORD"
        self.add(name, "".join(self.record) + f"{name},,\n")
        self.archive.close()


def is_module(path):
    return path.suffix in (".py", ".typed")


def is_library(path):
    """One file of each library: the one that programs ask for by its name."""
    return re.fullmatch(r"lib.*\.so\.\d+|lib.*\.\d+\.dylib|lib.*-[0-9a-f]{8}\.so.*", path.name) is not None


def write_wheel(path, stage, tag, licenses):
    wheel = Wheel(path)
    wheel.add_tree("dpaudit", HERE / "dpaudit", is_module)
    wheel.add("dpaudit/bin/dpaudit", (stage / "bin" / "dpaudit").read_bytes(), executable=True)
    wheel.add_tree("dpaudit/lib", stage / "lib", is_library)
    share = stage / "share"
    wheel.add_tree("dpaudit/share/dpaudit", share / "dpaudit")
    for folder in ("man", "bash-completion", "zsh", "fish"):  # where man and the shells look, beside the folder of the command
        wheel.add_tree(f"{wheel.data}/data/share/{folder}", share / folder)
    wheel.add(f"{wheel.data}/scripts/dpaudit", COMMAND, executable=True)
    wheel.add_tree(f"{wheel.info}/licenses", licenses)
    wheel.add(f"{wheel.info}/METADATA", metadata())
    wheel.add(f"{wheel.info}/entry_points.txt", ENTRY_POINTS)
    wheel.add(f"{wheel.info}/WHEEL",
              f"Wheel-Version: 1.0\nGenerator: dpaudit build_backend\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n")
    wheel.close()


def make_wheel(folder, settings=None, bundle=False):
    """Builds the wheel into `folder` and gives its name."""
    with tempfile.TemporaryDirectory(prefix="dpaudit-wheel-") as work:
        stage = installed(compiled(Path(work) / "build", settings), Path(work) / "stage")
        licenses = Path(work) / "licenses"
        licenses.mkdir()
        shutil.copy(SOURCE / "LICENSE", licenses)
        if bundle:
            sys.path.insert(0, str(HERE))
            import bundle as bundler

            tag = bundler.bundle(stage, licenses)
        else:  # uses the libraries of this machine
            tag = re.sub(r"[-.]", "_", sysconfig.get_platform())
        name = f"dpaudit-{version()}-py3-none-{tag}.whl"
        write_wheel(Path(folder) / name, stage, tag, licenses)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return make_wheel(wheel_directory, config_settings)


# ── the source ────────────────────────────────────────────────────────────────────────────────────


def source_files():
    """What is under version control; in an unpacked sdist, all there is."""
    if (SOURCE / ".git").exists():
        listed = subprocess.run(["git", "-C", str(SOURCE), "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    else:
        names = [path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_file()]
    return [name for name in sorted(names) if not name.startswith((".git", ".ci", "build/")) and name != "PKG-INFO"]


def build_sdist(sdist_directory, config_settings=None):
    """The source, and the report's script as npm made it, so that whoever builds it needs no npm."""
    base = f"dpaudit-{version()}"
    entries = {name: SOURCE / name for name in source_files() if (SOURCE / name).is_file()}
    built = (config_settings or {}).get("DPAUDIT_BUILD") or os.environ.get("DPAUDIT_BUILD")
    for name in ("report.js", "report_hash.h"):
        if built and (Path(built) / "web" / "dist" / name).exists():
            entries[f"web/dist/{name}"] = Path(built) / "web" / "dist" / name
    path = Path(sdist_directory) / f"{base}.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, content in [("PKG-INFO", metadata().encode())] + [(n, entries[n].read_bytes()) for n in sorted(entries)]:
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size, entry.mtime = len(content), 1577836800
            entry.mode = 0o755 if name in entries and os.access(entries[name], os.X_OK) else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return path.name


def main():
    parser = argparse.ArgumentParser(description="Builds a wheel that needs nothing of the machine, and an sdist.")
    parser.add_argument("folder", type=Path, help="where they go")
    parser.add_argument("--build", required=True, help="a CMake build tree, which is configured and built when it is not there")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    build = Path(arguments.build).resolve()
    compiled(build, None)
    settings = {"DPAUDIT_BUILD": str(build)}
    for name in (make_wheel(arguments.folder, settings, bundle=True), build_sdist(arguments.folder, settings)):
        path = arguments.folder / name
        print(f"{path}  {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
