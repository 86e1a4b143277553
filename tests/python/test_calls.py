# SPDX-License-Identifier: GPL-3.0-or-later
"""How calls behave: no copies, no leaks, little overhead, the GIL released, Ctrl-C, fork, threads, the wrong library."""

import ctypes
import gc
import math
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from array import array
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit import _arrays, _library


def in_child(code, *, timeout=120, **environment):
    """Run code in a fresh interpreter; gives the finished process."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment},
    )


# ── memory ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "values",
    [
        np.arange(5.0),
        array("d", [0, 1, 2, 3, 4]),
        memoryview(np.arange(5.0)),
        memoryview(np.arange(5.0).tobytes()).cast("d"),
        np.arange(10.0)[5:],
        (ctypes.c_double * 5)(),
    ],
    ids=["numpy", "array", "memoryview", "read-only bytes", "slice", "ctypes"],
)
def test_contiguous_float64_is_not_copied(values):
    given = _arrays.numbers("x", values)
    assert given.source is values and given.count == 5
    assert given.address == np.asarray(values).__array_interface__["data"][0]


def test_other_numbers_are_copied_once():
    for values in ([1, 2], (1.0, 2.0), range(2), np.arange(2), np.arange(2.0, dtype="f4"), np.arange(4.0)[::2], array("i", [1, 2])):
        given = _arrays.numbers("x", values)
        assert list(given.view) == [float(x) for x in values] and given.kind == "d"


def test_models_of_float32_are_not_copied():
    values = np.arange(5, dtype="f4")
    given = _arrays.numbers("x", values, kinds="fd")
    assert given.kind == "f" and given.address == values.__array_interface__["data"][0]


def test_ten_million_scores_without_a_copy():
    """Peak memory of the call is what the library needs, not one more copy of the arguments on this side."""
    code = """
        import resource, numpy as np, dpaudit
        from dpaudit import _arrays
        scores = np.random.default_rng(1).normal(0, 1, 10_000_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3):
            given = _arrays.numbers("members", scores)
            assert given.address == scores.__array_interface__["data"][0] and given.count == len(scores)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024, "KiB"
        report = dpaudit.scores(scores[:5_000_000] + 0.0, scores[5_000_000:], select="fixed:1", method="cp", family="dp")
        assert report.evidence.members == 5_000_000
    """
    done = in_child(code, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_hundred_thousand_calls_leak_nothing():
    def some(count):
        for i in range(count):
            report = dpaudit.two_gaussians(0, 1, 1 + i % 7, 1)
            if i % 50 == 0:
                assert report.epsilon.upper > 0 and report.table()
            if i % 100 == 0:
                with pytest.raises(ValueError):
                    dpaudit.counts(1, 1, 1, 1, delta=2)

    some(5_000)
    gc.collect()
    before, objects = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(gc.get_objects())
    some(100_000)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096, "KiB"
    assert len(gc.get_objects()) - objects < 500


def test_canaries_with_channels():
    draw = np.random.default_rng(3)
    coin = draw.random(600) < 0.5
    scores = coin + draw.normal(size=600)

    def bound(**more):
        return dpaudit.one_run(scores=scores, members=coin, family="gaussian", **more).results[0]

    noise = draw.normal(size=(60, 80))
    scale = np.exp(0.5 * draw.normal(size=(60, 1)))
    strong, weak = bound(method="channels", null_noise=noise), bound(method="recursion")
    assert strong.method == "channels" and strong.epsilon_lower > 1.2 * weak.epsilon_lower
    fallen = bound(method="channels", null_noise=noise * scale)
    assert fallen.method == "recursion" and fallen.epsilon_lower == weak.epsilon_lower
    listed = bound(method="channels", null_noise=noise.tolist())
    assert listed.epsilon_lower == strong.epsilon_lower


def test_long_calls_leak_nothing():
    members, nonmembers = np.arange(50.0) + 3, np.arange(50.0)

    def some(count):
        for _ in range(count):
            dpaudit.scores(members, nonmembers, method="cp", family="dp", select="fixed:10")
            dpaudit.one_run(scores=members, members=nonmembers > 20, family="dp", guesses=10)
            dpaudit.CanarySet(16, 2).cosines(np.ones(16))

    some(50)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    some(400)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096, "KiB"


# ── time ──────────────────────────────────────────────────────────────────────────────────────────


def test_overhead_of_a_cheap_call(capsys):
    """What Python adds to the library's own time. Reported; asserted with a wide margin, as machines differ."""
    handle, err = ctypes.c_void_p(), _library.Error()
    function, release = _library.lib.dpa__audit_two_gaussians, _library.lib.dpa_report_free

    def bare(count):
        for _ in range(count):
            function(0.0, 1.0, 1.0, 1.0, 1e-5, ctypes.byref(handle), err)
            release(handle)

    def ours(count):
        for _ in range(count):
            dpaudit.two_gaussians(0.0, 1.0, 1.0, 1.0)

    times = {bare: math.inf, ours: math.inf}
    for _ in range(40):
        for work in times:
            start = time.perf_counter()
            work(200)
            times[work] = min(times[work], (time.perf_counter() - start) / 200)
    overhead = (times[ours] - times[bare]) * 1e6
    with capsys.disabled():
        print(f"\noverhead of a call: {overhead:.1f} µs on {times[bare] * 1e6:.1f} µs")
    assert overhead < 200


def test_results_are_read_only_when_asked_for():
    report = dpaudit.counts(1, 9, 2, 8, family="dp", method="cp")
    assert "_fields" not in report.__dict__
    assert report.refuted is False and "_fields" not in report.__dict__
    assert report.delta == 1e-5 and "_fields" in report.__dict__


def test_the_gil_is_released():
    """While one thread is inside the library, another goes on with Python."""
    seen, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            seen[0] += 1

    other = threading.Thread(target=count)
    other.start()
    try:
        dpaudit.CanarySet(2_000_000, 20, threads=1).cosines(np.ones(2_000_000))
    finally:
        stop.set()
        other.join()
    assert seen[0] > 1000


# ── threads, fork, signals ────────────────────────────────────────────────────────────────────────


def test_many_threads_get_the_same_answers():
    want = dpaudit.counts(3, 97, 5, 95).to_dict()
    got = []
    threads = [threading.Thread(target=lambda: got.append(dpaudit.counts(3, 97, 5, 95).to_dict())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [want] * 8


def test_fork():
    canaries = dpaudit.CanarySet(100_000, 8)
    want = canaries.cosines(np.ones(100_000))
    report = dpaudit.counts(3, 97, 5, 95)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = (canaries.cosines(np.ones(100_000)) == want).all()
            code = 0 if same and dpaudit.counts(3, 97, 5, 95).to_dict() == report.to_dict() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert report.table() and (canaries.cosines(np.ones(100_000)) == want).all()


LONG = {
    "canaries": "c = dpaudit.CanarySet(30_000_000, 1000); m = np.ones(30_000_000, 'f4'); go = lambda: c.cosines(m)",
    "losses": "x = np.random.default_rng(1).gamma(2, 1, 20000)\n"
    "go = lambda: dpaudit.losses(x, x + 0.1, bootstrap=10**6, method='mixture', components=5)",
}


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_stops_a_long_call(what):
    code = f"""
import sys, time, numpy as np, dpaudit
{LONG[what]}
print("ready", flush=True)
start = time.monotonic()
try:
    go()
except KeyboardInterrupt:
    print("stopped after", time.monotonic() - start, flush=True)
    report = dpaudit.counts(1, 9, 2, 8, family="dp", method="cp")  # and all goes on
    sys.exit(0 if report.delta == 1e-5 else 3)
sys.exit(4)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    sent = time.monotonic()
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0, out
    assert time.monotonic() - sent < 20, "seconds until a stopped call came back"


def test_other_exceptions_out_of_a_signal_get_through():
    code = """
        import signal, numpy as np, dpaudit
        class Alarm(Exception): pass
        def ring(*_): raise Alarm
        signal.signal(signal.SIGALRM, ring)
        canaries, model = dpaudit.CanarySet(20_000_000, 1000), np.ones(20_000_000, "f4")
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            canaries.cosines(model)
        except Alarm:
            raise SystemExit(0)
        raise SystemExit(1)
    """
    done = in_child(code)
    assert done.returncode == 0, done.stderr


# ── the library ───────────────────────────────────────────────────────────────────────────────────


def test_a_library_without_a_function_is_refused():
    with pytest.raises(ImportError, match="dpa__nothing: library and Python package do not belong together"):
        _library.declare("dpa__nothing", ctypes.c_void_p)


def test_another_library_is_refused():
    """A library that is not ours is named, at the first function that it lacks."""
    other = {**os.environ, "DPAUDIT_LIBRARY": "libm.so.6"}
    ran = subprocess.run([sys.executable, "-c", "import dpaudit"], env=other, capture_output=True, text=True)
    assert ran.returncode != 0
    assert "ImportError: libm.so.6 has no dpa_" in ran.stderr


def test_no_struct_is_repeated():
    """Layouts are the compiler's: the package knows pointers, numbers and names. (Py_buffer is CPython's own.)"""
    repeated = [
        line
        for file in Path(_library.__file__).parent.glob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "ctypes.Structure" in line and "class _Buffer" not in line
    ]
    assert repeated == []


def test_missing_library_says_where_it_looked(tmp_path):
    done = in_child("import dpaudit", DPAUDIT_LIBRARY=str(tmp_path / "gone.so"))
    assert done.returncode != 0 and "gone.so" in done.stderr and "DPAUDIT_LIBRARY" in done.stderr


def test_without_numpy():
    """Everything works with the standard library alone, with the same numbers."""
    code = """
        import sys
        sys.modules["numpy"] = None
        import array, dpaudit
        members, nonmembers = [float(i % 17) + 3 for i in range(80)], array.array("d", [float(i % 13) for i in range(70)])
        print(dpaudit.scores(members, nonmembers, method="cp").to_dict()["results"])
        print(dpaudit.one_run(scores=members, members=[i % 2 for i in range(80)]).to_dict()["results"])
        print(dpaudit.losses(members, array.array("f", nonmembers), method="empirical", bootstrap=0).to_dict()["results"])
        canaries = dpaudit.CanarySet(50, 3)
        total = array.array("f", bytes(200))
        canaries.add_to(total)
        canaries.round(total)
        print(list(canaries.vector(1)), list(canaries.cosines(total)), list(canaries.largest))
        signals = [[float((i * j) % 7) for j in range(4)] for i in range(6)]
        print(list(dpaudit.attack.calibrated(signals, [[(i + j) % 2 for j in range(4)] for i in range(6)])))
        canary = dpaudit.GradientCanary(20, 1.0, "constant")
        canary.observe(canary.gradient(3), [0.5] * 20)
        canary.observe(canary.gradient(4))
        print([round(x, 12) for part in canary.observations for x in part])
        try:
            dpaudit.scores("abc".encode(), [1.0])
        except ValueError as problem:
            print(problem)
    """
    bare, full = in_child(code), in_child(code.replace('sys.modules["numpy"] = None', ""))
    assert bare.returncode == 0, bare.stderr
    assert full.returncode == 0, full.stderr
    assert bare.stdout == full.stdout and "inf" not in bare.stdout


def test_tensors():
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    x, y = torch.arange(40, dtype=torch.float64), torch.arange(40, dtype=torch.float64) - 20
    assert _arrays.numbers("x", x).address == x.data_ptr(), "a copy was made"
    want = dpaudit.scores(x.tolist(), y.tolist(), method="cp", family="dp").to_dict()
    assert dpaudit.scores(x, y, method="cp", family="dp").to_dict() == want
    assert dpaudit.scores(x.requires_grad_(), y.float(), method="cp", family="dp").to_dict() == want
    total, canaries = torch.zeros(64), dpaudit.CanarySet(64, 2)
    canaries.add_to(total)
    assert float(total.norm()) > 1 and math.isclose(canaries.cosines(total)[0], float(total @ torch.tensor(canaries.vector(0)).float() / total.norm()), abs_tol=1e-6)
    with pytest.raises(ValueError, match="dimension"):
        canaries.round(torch.zeros(63))


def test_things_that_speak_dlpack_only():
    class Capsule:
        def __init__(self, of):
            self.of = of

        def __dlpack__(self, **options):
            return self.of.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.of.__dlpack_device__()

    values = np.arange(6.0)
    assert _arrays.numbers("x", Capsule(values)).address == values.__array_interface__["data"][0]
