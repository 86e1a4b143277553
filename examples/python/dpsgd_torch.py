#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A PyTorch DP-SGD loop, audited white-box in one file: dpsgd_torch.py [none|noise|clip]

The loop is an ordinary one: per-example gradients, clipping, Gaussian noise, a step. The audit needs three lines in it,
marked below. The planted bugs: half of the noise, and a clip of the sum instead of every gradient.
"""

import sys

import torch

import dpaudit

POINTS, BATCH, STEPS = 200, 10, 400
CLIP, SIGMA, RATE = 1.0, 0.8, 0.2


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(20, 24), torch.nn.Tanh(), torch.nn.Linear(24, 2))


def flat_gradient(model, x, y):
    """The gradient of one example's loss over all parameters, as one vector."""
    loss = torch.nn.functional.cross_entropy(model(x[None]), y[None])
    return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, list(model.parameters()))])


def private_sum(gradients, noise, bug):
    """[batch × parameters] → [parameters]: the code under audit."""
    if bug == "clip":
        total = gradients.sum(0)
        total = total * min(1.0, CLIP * len(gradients) / float(total.norm()))
    else:
        total = (gradients * (CLIP / gradients.norm(dim=1)).clamp(max=1.0)[:, None]).sum(0)
    scale = 0.5 if bug == "noise" else 1.0
    return total + scale * SIGMA * CLIP * torch.randn(total.shape, generator=noise)


def descend(model, step):
    with torch.no_grad():
        at = 0
        for p in model.parameters():
            p -= step[at : at + p.numel()].reshape(p.shape)
            at += p.numel()


def train(bug="none", seed=1):
    torch.manual_seed(seed)
    noise = torch.Generator().manual_seed(seed)
    x = torch.randn(POINTS, 20)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = make_model()
    dim = sum(p.numel() for p in model.parameters())
    canary = dpaudit.GradientCanary(dim, CLIP, seed=seed)  # 1: a canary for this model
    for step in range(STEPS):
        batch = torch.nonzero(torch.rand(POINTS) < BATCH / POINTS).ravel().tolist() or [0]
        gradients = torch.stack([flat_gradient(model, x[i], y[i]) for i in batch])
        extra = torch.as_tensor(canary.gradient(step), dtype=gradients.dtype)  # 2: one more example's gradient
        released = private_sum(gradients, noise, bug)
        inserted = torch.vstack([gradients, 10 * extra])  # too long: clipping must bring it back to CLIP
        canary.observe(private_sum(inserted, noise, bug), without=released)  # 3: what is released with it, and without
        descend(model, RATE / BATCH * released)
    return canary


def main(bug="none"):
    torch.set_num_threads(1)
    canary = train(bug)
    report = canary.result(sigma=SIGMA, confidence=0.99)
    print(report)
    return report


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]).refuted)
