# SPDX-License-Identifier: GPL-3.0-or-later
"""`dpaudit.watch`: loops of numpy in which every fault can be planted, forms of input, checkpoints, the pytest plugin.

Seeds are fixed; what is expected of a planted fault lies many standard deviations away.
"""

import json
import math
import os
import pickle
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

import dpaudit
from dpaudit import _watch_laws as laws

CLIP, SIGMA, RECORDS, Q, STEPS = 2.0, 1.0, 300, 0.1, 120
SHAPES = {"first": (9, 11), "bias": (7,), "last": (5, 6)}


class Loop:
    """A DP-SGD loop over three tensors with faults to plant; gradients are drawn, not learned."""

    def __init__(self, seed=1, **faults):
        self.noise, self.data = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
        self.faults, self.step = faults, 0
        self.drift = {name: self.data.normal(0, 0.2, shape) for name, shape in SHAPES.items()}

    def gradients(self, count):
        size = self.faults.get("size", 1.0)
        return {name: size * (self.drift[name] + self.data.normal(0, 0.5, (count, *shape))) for name, shape in SHAPES.items()}

    def __call__(self, gradients):
        count = len(gradients["bias"])
        norms = np.sqrt(sum((g.reshape(count, -1) ** 2).sum(axis=1) for g in gradients.values()))
        factors = np.minimum(1.0, self.faults.get("clip", 1.0) * CLIP / np.maximum(norms, 1e-12))
        if self.faults.get("unclipped"):
            factors = np.ones(count)
        draw = self.noise
        if "seeds" in self.faults:
            draw = np.random.default_rng(self.step % self.faults["seeds"])
        self.step += 1
        out = {}
        for name, g in gradients.items():
            if self.faults.get("tensor_seed"):
                draw = np.random.default_rng([7, self.step])
            z = draw.normal(0, 1, g.shape[1:])
            if self.faults.get("shape") == "laplace":
                z = draw.laplace(0, math.sqrt(0.5), g.shape[1:])
            scale = SIGMA * CLIP * self.faults.get("noise", 1.0) * self.faults.get(name, 1.0)
            if self.faults.get("unsteady"):
                scale *= 1.0 + 0.5 * math.sin(self.step)
            total = np.einsum("i,i...->...", factors, g) * self.faults.get("weight", 1.0)
            out[name] = total + scale * z
            if self.faults.get("grid"):
                out[name] = np.round(out[name] * self.faults["grid"]) / self.faults["grid"]
        return out


def sizes(seed, fixed=False):
    draw = np.random.default_rng([seed, 3])
    order = []
    for _ in range(STEPS):
        if not fixed:
            yield np.nonzero(draw.random(RECORDS) < Q)[0]
            continue
        if len(order) < RECORDS * Q:
            order = list(draw.permutation(RECORDS))
        yield np.array([order.pop() for _ in range(int(RECORDS * Q))])


def start(loop, **changes):
    claim = {"sigma": SIGMA, "clip_norm": CLIP, "q": Q, "steps": STEPS, "records": RECORDS, **changes}
    return dpaudit.watch(loop, generators=[loop.noise], **claim)


def watched(seed=1, fixed=False, claim=None, **faults):
    loop = Loop(seed, **faults)
    watch = start(loop, **(claim or {}))
    for batch in sizes(seed, fixed):
        watch.batch(batch)
        watch(loop.gradients(len(batch)))
    return watch.result()


def names(result):
    return [check.name for check in result.defects]


# ── the battery ───────────────────────────────────────────────────────────────────────────────────


def test_a_correct_loop_is_as_promised():
    result = watched().check()
    assert result.ok and not result.refuted and result.headline.startswith("As promised")
    by_name = {check.name: check for check in result.checks}
    for name in ("noise", "noise per tensor", "clipping", "scale", "inclusion rate", "sampling"):
        low, high = by_name[name].interval
        assert low < 1.0 < high and by_name[name].would, name
    assert by_name["over-long canaries"].ratio == pytest.approx(1.0, abs=0.01)
    assert by_name["noise"].interval[1] - by_name["noise"].interval[0] < 0.1
    assert "would have seen" in str(result)


@pytest.mark.parametrize(
    "faults, name, words",
    [
        ({"noise": 0.7}, "noise", "the noise is 0.7"),
        ({"noise": 1.5}, "noise", "the noise is 1.49"),
        ({"noise": 1 / CLIP}, "noise", "multiplied by the clip norm"),
        ({"noise": 0.0}, "noise", "there is no noise"),
        ({"bias": 0.0}, "noise per tensor", "no noise on bias"),
        ({"last": 0.5}, "noise per tensor", "noise on last is 0.5"),
        ({"seeds": 1}, "noise is fresh", "every step has the same noise"),
        ({"seeds": 50}, "noise is fresh", "50 different in 120 steps"),
        ({"tensor_seed": True}, "noise is fresh", "have the same noise"),
        ({"shape": "laplace"}, "noise is Gaussian", "not Gaussian"),
        ({"unsteady": True}, "noise is steady", "changes from step to step"),
        ({"grid": 256}, "low bits", "zero bits"),
        ({"grid": 1000}, "low bits", "are equal to another"),
        ({"unclipped": True}, "over-long canaries", "not clipped"),
        ({"clip": 0.5}, "over-long canaries", "the clip norm is 0.50"),
        ({"clip": 1.3}, "over-long canaries", "the clip norm is 1.30"),
        ({"fixed": True}, "sampling", "shuffled, not Poisson"),
        ({"claim": {"q": 0.05}}, "inclusion rate", "as often as accounted"),
        ({"claim": {"steps": 100}}, "steps", "120 steps were released, 100"),
        ({"claim": {"epsilon": 1.0}}, "accountant", "promised is 1.000"),
    ],
)
def test_planted_faults_are_named(faults, name, words):
    result = watched(**faults)
    assert words in result.headline, result.headline
    assert name in names(result)
    assert result.headline.index(words) < result.headline.index("was promised"), "the defect comes first, then ε"
    with pytest.raises(dpaudit.Defect, match="Defect: "):
        result.check()


def test_scale_is_seen_when_the_mechanism_cannot_be_asked():
    """`observe` alone: real gradients must show what the canaries would."""
    for faults, name, words in (({}, None, ""), ({"unclipped": True}, "clipping", "not clipped"), ({"weight": 1.5, "size": 0.2}, "scale", "counts 1.5")):
        loop = Loop(**faults)
        watch = dpaudit.watch(sigma=SIGMA, clip_norm=CLIP, q=Q, steps=STEPS, records=RECORDS)
        for batch in sizes(1):
            gradients = loop.gradients(len(batch))
            watch.observe(gradients, loop(gradients), batch=batch)
        result = watch.result()
        assert names(result) == ([name] if name else []) and words in result.headline
        canaries = next(check for check in result.checks if check.name == "over-long canaries")
        assert canaries.state == "not checked"
        assert result.place(result.checks[0])[0].endswith("test_watch.py")


def test_too_much_noise_is_a_defect_and_never_refuted():
    result = watched(noise=2.0)
    assert names(result) == ["noise"] and not result.refuted


def test_epsilon_of_what_was_done():
    result = watched(noise=0.5)
    assert result.epsilon == pytest.approx(dpaudit.account(0.5, Q, STEPS).epsilon.lower, rel=0.05)
    assert result.claim.epsilon == pytest.approx(dpaudit.account(1.0, Q, STEPS).epsilon.lower)
    assert math.isinf(watched(bias=0.0).epsilon)


def test_p_values_of_correct_loops():
    """Of 100 correct loops no check has more small p-values than chance allows."""
    runs, small = 100, {}
    for seed in range(runs):
        loop = Loop(seed)
        watch = start(loop, steps=25, q=Q)
        for step, batch in zip(range(25), sizes(seed)):
            watch.batch(batch)
            watch(loop.gradients(len(batch)))
        for check in watch.result().checks:
            small[check.name] = small.get(check.name, 0) + (check.p <= 0.1)
    for name, count in small.items():
        assert laws.binomial_upper(count, runs, 0.1) > 1e-5, (name, count)


# ── it leaves the training alone ──────────────────────────────────────────────────────────────────


def test_the_training_is_not_changed():
    released = []
    for under_watch in (False, True):
        loop = Loop(3)
        mechanism = start(loop) if under_watch else loop
        if under_watch:
            np.random.seed(5)
            before = np.random.get_state()[1].copy()
        released.append([mechanism(loop.gradients(len(batch))) for batch in sizes(3)])
        if under_watch:
            assert (np.random.get_state()[1] == before).all()
    for one, other in zip(*released):
        for name in SHAPES:
            assert (one[name] == other[name]).all()


def test_a_checkpoint_goes_on():
    results = []
    for cut in (None, 50):
        loop = Loop(4)
        watch = start(loop)
        for step, batch in enumerate(sizes(4)):
            if step == cut:
                kept = pickle.loads(pickle.dumps(watch.state_dict()))
                watch = start(loop)
                watch.load_state_dict(kept)
            watch.batch(batch)
            watch(loop.gradients(len(batch)))
        results.append(watch.result().to_dict())
    assert results[0] == results[1]


def test_accumulated_parts_are_one_step():
    results = []
    for parts in (1, 3):
        loop = Loop(6)
        watch = dpaudit.watch(sigma=SIGMA, clip_norm=CLIP, q=Q, steps=STEPS, records=RECORDS)
        for batch in sizes(6):
            gradients = loop.gradients(len(batch))
            released = loop(gradients)
            for rows in np.array_split(np.arange(len(batch)), parts):
                watch.accumulate({name: g[rows] for name, g in gradients.items()})
            watch.observe(None, released, batch=batch)
        results.append({check.name: check for check in watch.result().checks})
    for name in ("noise", "clipping", "scale", "inclusion rate", "sampling"):
        assert results[0][name].ratio == pytest.approx(results[1][name].ratio, rel=1e-9)


# ── forms of input ────────────────────────────────────────────────────────────────────────────────


class Capsule:
    """What shows its numbers by DLPack only, as arrays of JAX on another framework's side do."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, stream=None):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Space:
    """An array of a framework with the array API, as JAX's are: its functions take no other kind."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(dtype or self.array.dtype)

    def __array_namespace__(self):
        class Namespace:
            asarray = Space

        return Namespace


def test_a_function_is_asked_in_its_own_kind_of_array():
    noise, data = np.random.default_rng(1), np.random.default_rng(2)

    def private_sum(gradients):
        g = gradients["w"].array  # not there on an array of numpy
        factors = np.minimum(1.0, 1.0 / np.linalg.norm(g, axis=1, keepdims=True))
        return {"w": Space((g * factors).sum(axis=0) + noise.normal(0, 1.0, 100))}

    watch = dpaudit.watch(private_sum, sigma=1.0, clip_norm=1.0, q=0.1, steps=60, generators=[noise])
    for _ in range(60):
        watch({"w": Space(data.normal(0, 0.2, (20, 100)))})
    result = watch.result().check()
    assert next(check for check in result.checks if check.name == "over-long canaries").ratio == pytest.approx(1.0, abs=0.01)


def flat_loop(kind, dtype=np.float64, noise=1.0):
    rng = np.random.default_rng(9)
    watch = dpaudit.watch(sigma=1.0, clip_norm=1.0, q=0.1, steps=60)
    for _ in range(60):
        gradients = rng.normal(0, 0.2, (20, 200)).astype(dtype)
        wide = gradients.astype(np.float64)
        total = (wide * np.minimum(1, 1 / np.linalg.norm(wide, axis=1, keepdims=True))).sum(axis=0)
        watch.observe(kind(gradients), kind((total + noise * rng.normal(0, 1.0, 200)).astype(dtype)))
    return watch.result()


@pytest.mark.parametrize("kind", [np.asarray, Capsule, lambda x: [x[..., :50], x[..., 50:]], lambda x: {"a": {"b": x}}])
def test_forms(kind):
    assert flat_loop(kind).ok
    assert names(flat_loop(kind, noise=0.5)) == ["noise"]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_half_and_single_precision(dtype):
    assert flat_loop(np.asarray, dtype).ok
    assert "noise" in names(flat_loop(np.asarray, dtype, noise=0.5))


def test_a_large_model_is_probed():
    rng = np.random.default_rng(2)
    watch = dpaudit.watch(sigma=1.0, clip_norm=1.0, q=0.1, steps=40, names=["big", "small"])
    for _ in range(40):
        big, small = rng.normal(0, 0.01, (8, 20000)), rng.normal(0, 0.01, (8, 5))
        norms = np.sqrt((big**2).sum(axis=1) + (small**2).sum(axis=1))
        factors = np.minimum(1, 1 / norms)
        watch.observe([big, small], [factors @ big + rng.normal(0, 1, 20000), factors @ small])
    result = watch.result()
    assert "no noise on small" in result.headline and "big" not in result.headline


def test_clip_norms_per_tensor_may_be_promised():
    rng = np.random.default_rng(3)
    limits = [1.0, 0.5]
    for planted, good in ((False, True), (True, False)):
        watch = dpaudit.watch(sigma=1.0, clip_norm=limits, q=0.1, steps=60, names=["a", "b"])
        for _ in range(60):
            g = [rng.normal(0, 0.3, (20, 80)) + 0.1, rng.normal(0, 0.3, (20, 40)) + 0.1]
            cut = [3.0, 3.0] if planted else limits
            out = [(x * np.minimum(1, c / np.linalg.norm(x, axis=1, keepdims=True))).sum(axis=0) for x, c in zip(g, cut)]
            watch.observe(g, [x + rng.normal(0, math.sqrt(1.25), x.shape) for x in out])
        assert watch.result().ok is good, str(watch.result())


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"sigma": None}, "claim of the whole training"),
        ({"q": None}, "claim of the whole training"),
        ({"steps": None}, "claim of the whole training"),
        ({"q": 0.0}, "q: 0.0"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"sigma": 0.0}, "no claim to watch"),
        ({"confidence": 0.3}, "confidence"),
        ({"sampling": "shuffled"}, "sampling"),
        ({"target": 3}, "neither an optimizer nor a function"),
        ({"generators": [3]}, "generators"),
        ({"normalizer": 0}, "normalizer"),
    ],
)
def test_bad_claims(changes, words):
    with pytest.raises((ValueError, TypeError), match=words):
        dpaudit.watch(**{"sigma": 1.0, "clip_norm": 1.0, "q": 0.1, "steps": 10, **changes})


def test_bad_steps():
    watch = dpaudit.watch(sigma=1.0, clip_norm=1.0, q=0.1, steps=10, records=50)
    with pytest.raises(ValueError, match="nothing was watched"):
        watch.result()
    with pytest.raises(ValueError, match="at least 64"):
        watch.observe(np.zeros((3, 10)), np.zeros(10))
    for gradients, released, batch, words in (
        (np.zeros((3, 100)), np.zeros(99), None, "released"),
        (np.full((3, 100), math.nan), np.zeros(100), None, "not finite"),
        (np.zeros((3, 100)), np.full(100, math.inf), None, "not finite"),
        (np.zeros((3, 100)), np.zeros(100), [50], "batch"),
        ([np.zeros((3, 100)), np.zeros((4, 2))], np.zeros(100), None, "different numbers of examples"),
    ):
        watch = dpaudit.watch(sigma=1.0, clip_norm=1.0, q=0.1, steps=10, records=50)
        with pytest.raises(ValueError, match=words):
            watch.observe(gradients, released, batch)


# ── forms of output ───────────────────────────────────────────────────────────────────────────────


def test_refuted_without_a_defect_is_annotated():
    result = watched()
    assert result.annotations() == []
    result.primary = dpaudit.scores(np.arange(50.0) + 100.0, np.arange(50.0), claim_epsilon=0.1, family="gaussian", method="rank")
    (note,) = result.annotations()
    assert result.refuted and note["title"] == "dpaudit: primary test" and "no check says why" in note["message"]


def test_outputs(tmp_path):
    result = watched(noise=0.5)
    fields = json.loads(result.to_json())
    noise = next(check for check in fields["checks"] if check["name"] == "noise")
    assert noise["state"] == "defect" and noise["lower"] < 0.5 < noise["upper"] and noise["line"] > 1
    assert fields["epsilon"]["promised"] < fields["epsilon"]["done"]
    suite = xml.etree.ElementTree.parse(result.junit(tmp_path / "watch.xml")).getroot()
    assert suite.get("failures") == str(1 + result.refuted)
    failure = suite.find("testcase[@name='noise']/failure")
    assert failure.get("message").startswith("the noise is 0.50 × promised")
    page = result.report(tmp_path / "watch.html").read_text(encoding="utf-8")
    assert "the noise is 0.50 × promised" in page and "<svg" in page and "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    note = result.annotations()[0]
    assert note["path"].endswith("test_watch.py") and note["annotation_level"] == "failure"
    assert "0.50 × promised" in result._repr_html_()


PLUGIN_TEST = """
import numpy as np

def train(noise, start):
    rng = np.random.default_rng(5)
    def private_sum(gradients):
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        return (gradients * np.minimum(1, 2.0 / norms)).sum(axis=0) + rng.normal(0, noise * 2.0, gradients.shape[1])
    watch = start(private_sum, sigma=1.0, clip_norm=2.0, q=0.1, steps=60, generators=[rng])
    for step in range(60):
        watch(np.random.default_rng(step).normal(0, 0.5, (20, 100)))

def test_good(dpaudit_watch):
    train(1.0, dpaudit_watch)

def test_bad(dpaudit_watch):
    train(0.5, dpaudit_watch)
"""


def test_pytest_plugin(source, tmp_path):
    (tmp_path / "test_training.py").write_text(PLUGIN_TEST)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "dpaudit.pytest", "test_training.py"]
    options = ["--dpaudit-confidence", "0.999", "--dpaudit-annotations", "notes.json", "--junitxml", "junit.xml"]
    environment = {**os.environ, "PYTHONPATH": str(source / "python")}
    done = subprocess.run([*words, *options], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    first = next(line for line in done.stdout.splitlines() if line.startswith("E "))
    assert "the noise is 0.50 × promised" in first and first.index("0.50") < first.index("ε =")
    notes = json.loads((tmp_path / "notes.json").read_text(encoding="utf-8"))
    assert [note["title"] for note in notes] == ["dpaudit: noise"]
    properties = xml.etree.ElementTree.parse(tmp_path / "junit.xml").getroot().iter("property")
    assert any(p.get("name") == "dpaudit noise" and p.get("value").startswith("defect 0.5") for p in properties)
    wrong = subprocess.run([*words, "--dpaudit-confidence", "2"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert wrong.returncode == 4 and "--dpaudit-confidence" in wrong.stderr
