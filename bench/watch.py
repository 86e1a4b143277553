#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a watch costs: bench/watch.py [WEIGHTS] [BATCH] [STEPS]

Plain DP-SGD steps (per-example gradients, clipping, noise) and the same steps under watch take turns on one model;
prints the medians and totals, and the ratio. The claim is a training of 400 steps, in which canaries are asked four
times; here they are asked once in STEPS: as often in 100 steps (the default), and too often in fewer.
"""

import statistics
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SOURCE / "examples" / "python"), str(SOURCE / "python")]

import torch  # noqa: E402
import watch_torch  # noqa: E402

import dpaudit  # noqa: E402


def main(weights=10**7, batch=8, steps=100):
    torch.set_num_threads(1)
    weights, batch, steps = int(weights), int(batch), int(steps)
    width = max(1, weights // (1024 + 10 + 1))
    model = torch.nn.Sequential(torch.nn.Linear(1024, width), torch.nn.Tanh(), torch.nn.Linear(width, 10))
    names = [name for name, _ in model.named_parameters()]
    gradients, mechanism = watch_torch.per_example_gradients(model), watch_torch.Mechanism("none", names, 1)
    watch = dpaudit.watch(mechanism, sigma=1.0, clip_norm=watch_torch.CLIP, q=0.01, steps=400, generators=[mechanism.noise])
    seconds = {"plain": [], "watched": []}
    for _ in range(steps):
        x, y = torch.randn(batch, 1024), torch.randint(10, (batch,))
        for name, release in (("plain", mechanism), ("watched", watch)):
            start = time.process_time()
            released = release(gradients(x, y))
            with torch.no_grad():
                for p, g in zip(model.parameters(), released):
                    p -= 1e-3 * g
            seconds[name].append(time.process_time() - start)
    size = sum(p.numel() for p in model.parameters())
    print(f"{size} weights, batches of {batch}, {steps} steps, looked at every {watch._every} steps")
    for name, times in seconds.items():
        print(f"{name:8} median {1e3 * statistics.median(times):8.1f} ms, all {sum(times):7.2f} s of processor time")
    print(f"overhead {100 * (sum(seconds['watched']) / sum(seconds['plain']) - 1):.1f}%")


if __name__ == "__main__":
    main(*sys.argv[1:])
