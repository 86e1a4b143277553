# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes an installed tree self-contained: every shared library that is not part of the C library goes in beside ours, under a name of
its own (another copy that the host program has loaded is never taken in its place), found by run paths relative to the file that asks.
The platform tag is the newest version of glibc that any of the files asks for (PEP 600). Needs patchelf, readelf and ldd.

Licences: those of the Debian packages that the libraries come from, with the versions of their sources.
"""

import hashlib
import platform
import re
import shutil
import subprocess
from pathlib import Path

# What every Linux with glibc has, and must not have twice in a process.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libresolv|libutil)\.so\.\d+|ld-linux.*|linux-vdso.*")


def output(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(path):
    return [name for name in output("patchelf", "--print-needed", path).split() if not SYSTEM.fullmatch(name)]


def resolved(paths):
    """Name → file of everything that the files ask for, directly or not."""
    found = {}
    for path in paths:
        for name, where in re.findall(r"^\s*(\S+) => (\S+)", output("ldd", path), re.MULTILINE):
            if where == "not":
                raise SystemExit(f"{path} needs {name}, which is not on this machine")
            if not SYSTEM.fullmatch(name):
                found[name] = Path(where)
    return found


def own_name(name, path):
    """libfftw3.so.3 → libfftw3-0a1b2c3d.so.3"""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    stem, dot, rest = name.partition(".so")
    return f"{stem}-{digest}{dot}{rest}"


def glibc(paths):
    """The newest version of glibc's symbols in any of the files, as (2, 34)."""
    newest = (2, 17)  # the oldest for which pip knows tags of this form
    for path in paths:
        names = output("readelf", "-W", "--version-info", path)
        if "GLIBC_ABI_DT_RELR" in names:
            newest = max(newest, (2, 36))
        for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", names):
            newest = max(newest, (int(major), int(minor)))
    return newest


def package_of(path):
    for candidate in (path, path.resolve(), Path("/usr") / path.relative_to("/"), Path("/usr") / path.resolve().relative_to("/")):
        done = subprocess.run(["dpkg", "-S", str(candidate)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise SystemExit(f"{path} is of no Debian package: its licence is unknown, so it cannot be bundled")


def add_licences(libraries, folder):
    """The copyright file of every package, the common licences that they mention, and where the sources are."""
    sources, common = [], set()
    for package in sorted({package_of(path) for path in libraries}):
        text = Path("/usr/share/doc", package, "copyright")
        shutil.copy(text, folder / f"{package}.txt")
        common.update(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text.read_text(encoding="utf-8")))
        line = output("dpkg-query", "-W", "-f", "${binary:Package} ${Version}: Debian source package ${source:Package} "
                      "${source:Version}\n", package)
        sources.append(line.splitlines()[0])
    for name in sorted(common):
        if Path("/usr/share/common-licenses", name).exists():
            shutil.copy(Path("/usr/share/common-licenses", name), folder / f"common-{name}.txt")
    head = "Libraries in this wheel, taken unchanged but for their names from these packages; their sources are at sources.debian.org:\n"
    (folder / "BUNDLED.txt").write_text(head + "\n".join(sources) + "\n", encoding="utf-8")


def bundle(stage, licences):
    """Changes `stage` in place, fills the folder `licences`, gives the platform tag."""
    for tool in ("patchelf", "readelf", "ldd", "dpkg"):
        if shutil.which(tool) is None:
            raise SystemExit(f"{tool} is needed to bundle libraries (Debian: apt-get install patchelf binutils)")
    program = stage / "bin" / "dpaudit"
    ours = sorted(path for path in (stage / "lib").glob("libdpaudit*.so.*") if not path.is_symlink())
    ours_by_name = {output("patchelf", "--print-soname", path).strip(): path for path in ours}
    found = {name: path for name, path in resolved([program, *ours]).items() if name not in ours_by_name}
    names = {name: own_name(name, path) for name, path in found.items()}
    for name, path in found.items():
        copy = stage / "lib" / names[name]
        shutil.copyfile(path, copy)
        copy.chmod(0o644)
        output("patchelf", "--set-soname", names[name], copy)
    for soname, path in ours_by_name.items():  # a wheel has no symbolic links: the file gets the name that is asked for
        target = path.with_name(soname)
        target.unlink()
        path.rename(target)
    libraries = [stage / "lib" / name for name in [*names.values(), *ours_by_name]]
    for path in [program, *libraries]:
        for name in needed(path):
            if name in names:
                output("patchelf", "--replace-needed", name, names[name], path)
        output("patchelf", "--set-rpath", "$ORIGIN/../lib" if path == program else "$ORIGIN", path)
    add_licences(found.values(), licences)
    major, minor = glibc([program, *libraries])
    return f"manylinux_{major}_{minor}_{platform.machine()}"
