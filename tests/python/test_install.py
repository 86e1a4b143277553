# SPDX-License-Identifier: GPL-3.0-or-later
"""pip installs package and command; a bundled tree asks the machine for nothing but the C library; the sdist holds the source."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pip", reason="this Python has no pip (Debian: python3-pip)")
if shutil.which("cmake") is None:
    pytest.skip("cmake is not on the PATH", allow_module_level=True)


def run(*words, cwd, **environment):
    outside = {key: value for key, value in os.environ.items() if key not in ("DPAUDIT_LIBRARY", "PYTHONPATH")}
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, env={**outside, **environment}, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def build():
    """The build tree that the tests run from."""
    return Path(os.environ["DPAUDIT"]).resolve().parent.parent


@pytest.fixture(scope="module")
def backend(source):
    sys.path.insert(0, str(source / "python"))
    import build_backend

    return build_backend


def test_pip_install(source, build, tmp_path):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    before = run("git", "status", "--short", "--ignored", cwd=source) if (source / ".git").exists() else ""
    run(*pip, "wheel", "--no-deps", "--no-index", "-w", tmp_path / "wheels", source, cwd=tmp_path, DPAUDIT_BUILD=str(build))
    if before:  # nothing is left behind in the source
        assert run("git", "status", "--short", "--ignored", cwd=source) == before
    (wheel,) = (tmp_path / "wheels").glob("dpaudit-*-py3-none-linux_*.whl")
    run(*pip, "install", "--no-deps", "--no-index", "--prefix", tmp_path / "site", wheel, cwd=tmp_path)
    (package,) = (tmp_path / "site").rglob("dpaudit/__init__.py")
    at = {"PYTHONPATH": str(package.parent.parent)}
    code = "import dpaudit; print(dpaudit.__file__, dpaudit._lib._name, dpaudit.counts(1, 99, 2, 98).results[0].guarantee)"
    file, library, kind = run(sys.executable, "-c", code, cwd=tmp_path, **at).split()
    assert kind == "confidence" and file == str(package)
    assert library == str(package.parent / "lib" / "libdpaudit.so.0")
    (script,) = [path for path in (tmp_path / "site").rglob("bin/dpaudit") if path.parent.parent != package.parent]
    for words in ([script], [sys.executable, "-m", "dpaudit"]):
        assert run(*words, "--version", cwd=tmp_path, **at).startswith("dpaudit 0.")
    assert list((tmp_path / "site").rglob("share/man/man1/dpaudit-scores.1"))
    assert (package.parent / "share" / "dpaudit" / "examples" / "members.npy").exists()


def test_bundle(source, build, backend, tmp_path):
    """What scripts/build-wheel adds: libraries under names of their own, relative run paths, licences, the tag."""
    for tool in ("patchelf", "readelf", "ldd", "dpkg"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    name = backend.make_wheel(tmp_path, {"DPAUDIT_BUILD": str(build)}, bundle=True)
    machine = os.uname().machine
    assert re.fullmatch(rf"dpaudit-[0-9.]+-py3-none-manylinux_2_\d+_{machine}\.whl", name)
    assert (tmp_path / name).stat().st_size < 25e6
    names = zipfile.ZipFile(tmp_path / name).namelist()
    run(sys.executable, "-m", "zipfile", "-e", tmp_path / name, tmp_path / "out", cwd=tmp_path)
    package = tmp_path / "out" / "dpaudit"
    libraries = list((package / "lib").iterdir())
    assert len(libraries) > 8
    own = {library.name for library in libraries}
    for file in [*libraries, package / "bin" / "dpaudit"]:
        assert run("patchelf", "--print-rpath", file, cwd=tmp_path).strip() in ("$ORIGIN", "$ORIGIN/../lib")
        for wanted in run("patchelf", "--print-needed", file, cwd=tmp_path).split():
            assert wanted in own or re.match(r"lib(c|m|dl|pthread|rt)\.so\.|ld-linux", wanted), f"{file.name} needs {wanted}"
    licences = [n.split("/")[-1] for n in names if ".dist-info/licenses/" in n]
    assert {"LICENSE", "BUNDLED.txt", "r-mathlib.txt", "common-GPL-3.txt"} <= set(licences)
    (package / "bin" / "dpaudit").chmod(0o755)
    assert "REFUTED" in subprocess.run([package / "bin" / "dpaudit", "counts", "--fn", "1", "--tp", "99", "--fp", "2", "--tn", "98",
                                        "--claim-epsilon", "1"], capture_output=True, text=True).stdout
    with zipfile.ZipFile(tmp_path / "both.npz", "w") as both:  # libzip is loaded for this
        for name in ("members.npy", "nonmembers.npy"):
            both.write(source / "examples" / name, name)
    assert "members" in run(package / "bin" / "dpaudit", "scores", tmp_path / "both.npz", cwd=tmp_path)


def test_sdist(source, build, backend, tmp_path):
    name = backend.build_sdist(tmp_path, {"DPAUDIT_BUILD": str(build)})
    with tarfile.open(tmp_path / name) as archive:
        names = {entry.split("/", 1)[1] for entry in archive.getnames()}
    assert {"PKG-INFO", "pyproject.toml", "CMakeLists.txt", "src/judge/verdict.c", "python/build_backend.py", "LICENSE"} <= names
    if (build / "web" / "dist" / "report.js").exists():
        assert "web/dist/report.js" in names  # so that who builds it needs no npm
