#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An optimizer in the manner of Opacus under watch: watch_optimizer.py [none|noise|clip|skip-noise|partial]

`DPOptimizer` stands for the optimizer of a library: per-example gradients in `p.grad_sample`, `clip_and_accumulate`,
`add_noise`, `scale_grad`, `pre_step`; batches may come in parts (`signal_skip_step`). The watch needs two lines, and a
third when it should know who is in a batch. With Opacus itself: `dpaudit.watch(optimizer, …)` after `make_private`.
"""

import sys

import torch
from watch_torch import make_data, make_model, per_example_gradients

import dpaudit

POINTS, BATCH, STEPS = 600, 32, 150
CLIP, SIGMA = 1.5, 1.0


class DPOptimizer:
    def __init__(self, optimizer, noise_multiplier, max_grad_norm, expected_batch_size, bug="none"):
        self.inner, self.param_groups = optimizer, optimizer.param_groups
        self.noise_multiplier, self.max_grad_norm = noise_multiplier, max_grad_norm
        self.expected_batch_size, self.loss_reduction = expected_batch_size, "mean"
        self.bug, self.skip = bug, []
        for p in self.params:
            p.summed_grad = None

    @property
    def params(self):
        return [p for group in self.param_groups for p in group["params"]]

    def signal_skip_step(self, skip):
        self.skip.append(skip)

    def clip_and_accumulate(self):
        count = len(self.params[0].grad_sample)
        norms = torch.stack([p.grad_sample.reshape(count, -1).norm(dim=1) for p in self.params]).norm(dim=0)
        factors = (self.max_grad_norm / (norms + 1e-6)).clamp(max=1.0)
        if self.bug == "clip":
            factors = torch.ones_like(factors)
        self.count = count
        for p in self.params:
            total = torch.einsum("i,i...->...", factors, p.grad_sample)
            p.summed_grad = total if p.summed_grad is None else p.summed_grad + total

    def add_noise(self):
        scale = self.noise_multiplier * (1.0 if self.bug == "noise" else self.max_grad_norm)
        for i, p in enumerate(self.params):
            quiet = self.bug == "skip-noise" and i == 1
            p.grad = p.summed_grad + (0.0 if quiet else scale) * torch.randn(p.shape)

    def scale_grad(self):
        for p in self.params:
            p.grad /= self.count if self.bug == "partial" else self.expected_batch_size

    def pre_step(self):
        self.clip_and_accumulate()
        if self.skip and self.skip.pop(0):
            return False
        self.add_noise()
        self.scale_grad()
        return True

    def step(self):
        if self.pre_step():
            self.inner.step()
            for p in self.params:
                p.summed_grad = None


def train(bug="none", seed=1, parts=1, watched=True):
    torch.manual_seed(seed)
    model, (x, y) = make_model("mlp"), make_data("mlp")
    gradients = per_example_gradients(model)
    layers = [{"params": model[0].parameters(), "lr": 0.3}, {"params": model[2].parameters(), "lr": 0.2}]
    optimizer = DPOptimizer(torch.optim.SGD(layers), SIGMA, CLIP, BATCH, bug)
    watch = None
    if watched:
        watch = dpaudit.watch(  # 1: the optimizer, and what was promised for the whole training
            optimizer, sigma=SIGMA, clip_norm=CLIP, q=BATCH / POINTS, steps=STEPS, records=POINTS,
            names=[name for name, _ in model.named_parameters()],
        )  # fmt: skip
    for _ in range(STEPS):
        batch = torch.nonzero(torch.rand(POINTS) < BATCH / POINTS).ravel()
        if watch:
            watch.batch(batch)  # 2, if you like: who is in this step
        pieces = batch.chunk(parts) if len(batch) >= parts else [batch]
        for i, piece in enumerate(pieces):
            for p, g in zip(optimizer.params, gradients(x[piece], y[piece])):
                p.grad_sample = g
            optimizer.signal_skip_step(i + 1 < len(pieces))
            optimizer.step()
    return watch, model


def main(bug="none"):
    torch.set_num_threads(1)
    result = train(bug)[0].result()  # 3
    print(result)
    return result


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]).ok)
