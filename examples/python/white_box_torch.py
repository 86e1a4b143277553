# SPDX-License-Identifier: GPL-3.0-or-later
"""A DP-SGD in PyTorch and a white-box audit of it, in one short file."""

import dpaudit
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(1)
X, Y, NOISE = torch.randn(200, 20), torch.randint(2, (200,)), 0.8


class DPSGD:
    def start(self, members, seed, init):
        torch.manual_seed(init)
        self.net, self.members = torch.nn.Linear(20, 2), torch.as_tensor(members)
        self.random = torch.Generator().manual_seed(seed)
        return sum(p.numel() for p in self.net.parameters())

    def batch(self):
        return self.members[torch.rand(len(self.members), generator=self.random) < 0.1]

    def gradient(self, example):
        loss = torch.nn.functional.cross_entropy(self.net(X[[example]]), Y[[example]])
        return parameters_to_vector(torch.autograd.grad(loss, list(self.net.parameters())))

    def step(self, batch, extra, update):
        weights = parameters_to_vector(self.net.parameters()).detach()
        total = NOISE * torch.randn(len(weights), generator=self.random)
        for g in [self.gradient(i) for i in batch] + list(torch.from_numpy(extra)):
            total += g * min(1.0, 1.0 / float(g.norm()))
        if update:
            vector_to_parameters(weights - total / 20, self.net.parameters())
        return total


trainer = dpaudit.trainer(DPSGD, points=200)
played = dpaudit.run({"kind": "white-box", "observations": 400}, trainer, clip=1, sigma=0.8, q=0.1, steps=20, progress=False)
print(played.report.headline)
