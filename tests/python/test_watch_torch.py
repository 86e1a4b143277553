# SPDX-License-Identifier: GPL-3.0-or-later
"""Watching PyTorch: the example with every planted bug, an optimizer in the manner of Opacus, bf16, ranks; the page docs/watch.md."""

import os
import re
import subprocess
import sys

import pytest

import dpaudit

torch = pytest.importorskip("torch", reason="python3-torch is not installed")


@pytest.fixture(scope="module", autouse=True)
def examples(source):
    sys.path.insert(0, str(source / "examples" / "python"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    sys.path.remove(str(source / "examples" / "python"))


BUGS = (
    "none noise-not-scaled no-clipping clip-after-mean clip-per-layer noise-per-microbatch no-noise-on-bias no-noise-on-layer "
    "same-noise hundred-seeds noise-0.7 noise-1.5 shuffled partial-batch wrong-q"
).split()


@pytest.mark.parametrize("bug", BUGS)
def test_every_planted_bug(bug):
    import watch_torch

    assert list(watch_torch.BUGS) == BUGS
    steps = 400 if bug == "partial-batch" else 150  # one batch in nineteen is partial
    result = watch_torch.train(bug, "cnn", seed=3, steps=steps)[0].result()
    if bug == "none":
        assert result.check().ok
    else:
        assert watch_torch.BUGS[bug] in result.defects[0].words, str(result)


def test_the_model_is_the_same_to_the_last_bit():
    import watch_torch

    models = [watch_torch.train("none", "cnn", seed=2, steps=40, watched=watched)[1] for watched in (True, False)]
    for one, other in zip(models[0].parameters(), models[1].parameters()):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    "bug, parts, words",
    [
        ("none", 1, ""),
        ("none", 3, ""),
        ("noise", 1, "multiplied by the clip norm"),
        ("clip", 2, "not clipped"),
        ("skip-noise", 1, "no noise on 0.bias"),
    ],
)
def test_optimizer(bug, parts, words):
    import watch_optimizer

    result = watch_optimizer.train(bug, parts=parts)[0].result()
    assert result.ok is (bug == "none"), str(result)
    assert words in result.headline
    if bug == "noise":
        path, line = result.place(result.defects[0])
        assert path.endswith("watch_optimizer.py") and "def add_noise" in open(path, encoding="utf-8").readlines()[line - 1]


def test_optimizer_is_left_alone():
    import watch_optimizer

    weights = [list(watch_optimizer.train(parts=2, watched=watched)[1].parameters()) for watched in (True, False)]
    assert all(torch.equal(one, other) for one, other in zip(*weights))
    model = torch.nn.Linear(10, 10)
    with pytest.raises(ValueError, match="clip_and_accumulate"):
        dpaudit.watch(torch.optim.SGD(model.parameters(), lr=1.0), sigma=1.0, clip_norm=1.0, q=0.1, steps=10)


def test_detach():
    import watch_optimizer

    optimizer = watch_optimizer.DPOptimizer(torch.optim.SGD(torch.nn.Linear(10, 10).parameters(), lr=0.1), 1.0, 1.0, 8)
    watch = dpaudit.watch(optimizer, sigma=1.0, clip_norm=1.0, q=0.1, steps=10)
    assert "pre_step" in vars(optimizer)
    watch.detach()
    assert "pre_step" not in vars(optimizer) and "clip_and_accumulate" not in vars(optimizer)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("noise", [1.0, 0.5])
def test_narrow_numbers(dtype, noise):
    draw = torch.Generator().manual_seed(4)
    watch = dpaudit.watch(sigma=1.0, clip_norm=1.0, q=0.1, steps=60, names=["w", "b"])
    kind = getattr(torch, dtype)
    for _ in range(60):
        g = [(0.3 * torch.randn(16, *shape, generator=draw)).to(kind) for shape in ((12, 20), (9,))]
        norms = torch.cat([x.float().reshape(16, -1) for x in g], dim=1).norm(dim=1)
        total = [torch.einsum("i,i...->...", (1.0 / norms).clamp(max=1.0), x.float()) for x in g]
        watch.observe(g, [(x + noise * torch.randn(x.shape, generator=draw)).to(kind) for x in total])
    result = watch.result()
    assert result.ok is (noise == 1.0), str(result)
    bits = next(check for check in result.checks if check.name == "low bits")
    assert bits.state == "not checked" and "coarse grid" in bits.would


RANKS = """
import sys
import torch
import torch.distributed as dist
import dpaudit

rank, bug, store = int(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
from watch_optimizer import DPOptimizer

class OneRankAddsNoise(DPOptimizer):
    def add_noise(self):
        for p in self.params:
            scale = (0.5 if bug == "noise" else 1.0) if rank == 0 else 0.0
            p.grad = p.summed_grad + scale * self.noise_multiplier * self.max_grad_norm * torch.randn(p.shape)

torch.manual_seed(1)
model = torch.nn.Linear(20, 8)
torch.manual_seed(10 + rank)
optimizer = OneRankAddsNoise(torch.optim.SGD(model.parameters(), lr=0.0), 1.0, 1.0, 8)
watch = dpaudit.watch(optimizer, sigma=1.0, clip_norm=1.0, q=0.1, steps=80, records=160, sampling="unchecked")
for _ in range(80):
    for p in model.parameters():
        p.grad_sample = 0.2 * torch.randn(8, *p.shape)
    optimizer.step()
result = watch.result()
noise = next(check for check in result.checks if check.name == "noise")
print(result.ok, f"{noise.ratio:.6f}", result.headline)
"""


@pytest.mark.parametrize("bug", ["none", "noise"])
def test_ranks_are_merged(source, tmp_path, bug):
    if not torch.distributed.is_available():
        pytest.skip("this torch has no torch.distributed")
    (tmp_path / "ranks.py").write_text(RANKS)
    words = [sys.executable, str(tmp_path / "ranks.py")]
    path = f"{source / 'python'}:{source / 'examples' / 'python'}"

    environment = {**os.environ, "PYTHONPATH": path, "GLOO_SOCKET_IFNAME": "lo"}
    both = [
        subprocess.Popen([*words, str(rank), bug, str(tmp_path / "store")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for rank in (0, 1)
    ]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0], "every rank has the same result"
    assert said[0][0].startswith("True" if bug == "none" else "False")
    assert bug == "none" or "the noise is 0.49 × promised" in said[0][0]


def test_the_page_runs(source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (source / "docs" / "watch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "docs/watch.md", "exec"), names)
    assert "As promised" in capsys.readouterr().out
