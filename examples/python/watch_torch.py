#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A PyTorch DP-SGD loop under watch: watch_torch.py [BUG] [mlp|cnn] [SEED]

An ordinary loop: Poisson batches, per-example gradients, clipping, Gaussian noise, a step. The watch needs the three
lines marked below. BUG plants one of the faults of `BUGS`; the watch must name it.
"""

import sys

import torch

import dpaudit

POINTS, BATCH, STEPS = 600, 32, 400
CLIP, SIGMA, RATE = 1.5, 1.0, 0.3

BUGS = {  # what is planted: words that the watch must say
    "none": "",
    "noise-not-scaled": "is it multiplied by the clip norm",
    "no-clipping": "not clipped",
    "clip-after-mean": "clipped, not every example",
    "clip-per-layer": "every tensor is clipped to C by itself",
    "noise-per-microbatch": "the noise is 0.50 × promised (1/√4",
    "no-noise-on-bias": "no noise on 2.bias",
    "no-noise-on-layer": "no noise on 2.weight",
    "same-noise": "every step has the same noise",
    "hundred-seeds": "noise is repeated",
    "noise-0.7": "the noise is 0.7",
    "noise-1.5": "the noise is 1.5",
    "shuffled": "batches are shuffled, not Poisson",
    "partial-batch": "batches are divided by their own size",
    "wrong-q": "as often as accounted",
}


def make_model(kind):
    if kind == "cnn":
        layers = (
            torch.nn.Conv2d(1, 8, 3),
            torch.nn.Tanh(),
            torch.nn.Conv2d(8, 16, 3),
            torch.nn.Tanh(),
            torch.nn.Flatten(),
            torch.nn.Linear(256, 10),
        )
        return torch.nn.Sequential(*layers)
    return torch.nn.Sequential(torch.nn.Linear(64, 24), torch.nn.Tanh(), torch.nn.Linear(24, 10))


def make_data(kind):
    x = torch.randn(POINTS, 64)
    y = (x @ torch.randn(64, 10)).argmax(dim=1)
    return (x.reshape(POINTS, 1, 8, 8) if kind == "cnn" else x), y


def per_example_gradients(model):
    """A function (x, y) → one tensor [batch, …] per parameter."""
    try:  # torch 2
        from torch.func import functional_call, grad, vmap

        names = [name for name, _ in model.named_parameters()]

        def loss(parameters, x, y):
            out = functional_call(model, dict(zip(names, parameters)), (x[None],))
            return torch.nn.functional.cross_entropy(out, y[None])

    except ImportError:  # torch 1.13
        from functorch import grad, make_functional, vmap

        function, _ = make_functional(model)

        def loss(parameters, x, y):
            return torch.nn.functional.cross_entropy(function(parameters, x[None]), y[None])

    each = vmap(grad(loss), (None, 0, 0))
    return lambda x, y: list(each(tuple(p.detach() for p in model.parameters()), x, y))


def batches(bug, draw):
    """Indices of every step's examples: Poisson, or (planted) slices of a shuffled list."""
    if bug not in ("shuffled", "partial-batch"):
        for _ in range(STEPS):
            yield torch.nonzero(torch.rand(POINTS, generator=draw) < BATCH / POINTS).ravel()
        return
    done = 0
    while done < STEPS:
        for piece in torch.randperm(POINTS, generator=draw).split(BATCH):
            if done < STEPS:
                yield piece
                done += 1


class Mechanism:
    """Gradients of a batch → noisy sum of clipped gradients: the code under watch."""

    def __init__(self, bug, names, seed):
        self.bug, self.names = bug, names
        self.noise = torch.Generator().manual_seed(1000 + seed)
        self.seed, self.seeds = seed, torch.Generator().manual_seed(seed)

    def clip(self, gradients):
        count = len(gradients[0])
        norms = torch.stack([g.reshape(count, -1).norm(dim=1) for g in gradients], dim=1)
        if self.bug in ("no-clipping", "clip-after-mean"):
            total = [g.sum(0) for g in gradients]
            whole = float(torch.cat([g.reshape(-1) for g in total]).norm())
            factor = min(1.0, CLIP * count / max(whole, 1e-12)) if self.bug == "clip-after-mean" else 1.0
            return [factor * g for g in total]
        if self.bug == "clip-per-layer":
            factors = (CLIP / norms).clamp(max=1.0)
        else:
            factors = (CLIP / norms.norm(dim=1, keepdim=True)).clamp(max=1.0).expand_as(norms)
        return [torch.einsum("i,i...->...", factors[:, k], g) for k, g in enumerate(gradients)]

    def scale(self, name):
        if (self.bug, name) in (("no-noise-on-bias", "2.bias"), ("no-noise-on-layer", "2.weight")):
            return 0.0
        wrong = {"noise-not-scaled": 1.0 / CLIP, "noise-0.7": 0.7, "noise-1.5": 1.5}
        return SIGMA * CLIP * wrong.get(self.bug, 1.0)

    def draw(self, shape):
        if self.bug == "noise-per-microbatch":
            return torch.randn(4, *shape, generator=self.noise).mean(0)
        return torch.randn(shape, generator=self.noise)

    def __call__(self, gradients):
        if self.bug == "same-noise":
            self.noise.manual_seed(self.seed)
        if self.bug == "hundred-seeds":
            self.noise.manual_seed(int(torch.randint(100, (), generator=self.seeds)))
        total = self.clip(gradients)
        if self.bug == "partial-batch" and len(gradients[0]):
            total = [g * BATCH / len(gradients[0]) for g in total]
        return [g + self.scale(name) * self.draw(g.shape) for name, g in zip(self.names, total)]


def train(bug="none", kind="mlp", seed=1, steps=STEPS, watched=True):
    torch.manual_seed(seed)
    model, (x, y), draw = make_model(kind), make_data(kind), torch.Generator().manual_seed(seed)
    names = [name for name, _ in model.named_parameters()]
    gradients, mechanism = per_example_gradients(model), Mechanism(bug, names, seed)
    q = 0.02 if bug == "wrong-q" else BATCH / POINTS
    sampling = "unchecked" if bug == "partial-batch" else "poisson"
    watch = dpaudit.watch(  # 1: what is watched, and what was promised for the whole training
        mechanism, sigma=SIGMA, clip_norm=CLIP, q=q, steps=STEPS, records=POINTS,
        names=names, generators=[mechanism.noise, mechanism.seeds], sampling=sampling, seed=seed,
    )  # fmt: skip
    release = watch if watched else mechanism
    for step, batch in enumerate(batches(bug, draw)):
        if step == steps:
            break
        watch.batch(batch)  # 2: who is in this step
        released = release(gradients(x[batch], y[batch]))  # 3: the watch in the place of the function
        with torch.no_grad():
            for p, g in zip(model.parameters(), released):
                p -= RATE / BATCH * g
    return watch, model


def main(bug="none", kind="mlp", seed=1):
    torch.set_num_threads(1)
    result = train(bug, kind, int(seed))[0].result()
    print(result)
    return result


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]).ok)
