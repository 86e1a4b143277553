# SPDX-License-Identifier: GPL-3.0-or-later
"""DP-SGD in PyTorch as a trainer for games: `dpaudit run white_box_torch.yaml`. NOISE=0.2 in the environment breaks it."""

import os

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import dpaudit

torch.set_num_threads(1)
X = torch.randn(200, 20, generator=torch.Generator().manual_seed(1))
Y = (X @ torch.randn(20, generator=torch.Generator().manual_seed(2)) > 0).long()
CLIP, SIGMA, Q, RATE, STEPS = 1.0, 0.8 * float(os.environ.get("NOISE", 1)), 0.1, 1.0, 20


@dpaudit.trainer(points=200)
class DPSGD:
    def start(self, members, seed, init):
        torch.manual_seed(init)
        self.net = torch.nn.Linear(20, 2)
        self.members, self.random = torch.as_tensor(members), torch.Generator().manual_seed(seed)
        return len(parameters_to_vector(self.net.parameters()))

    def batch(self):
        return self.members[torch.rand(len(self.members), generator=self.random) < Q]

    def gradient(self, example):
        loss = torch.nn.functional.cross_entropy(self.net(X[[example]]), Y[[example]])
        return parameters_to_vector(torch.autograd.grad(loss, list(self.net.parameters())))

    def step(self, batch, extra, update):
        gradients = [self.gradient(i) for i in batch] + list(torch.from_numpy(extra))
        weights = parameters_to_vector(self.net.parameters()).detach()
        total = SIGMA * CLIP * torch.randn(len(weights), generator=self.random)
        for g in gradients:
            total += g * min(1.0, CLIP / float(g.norm()))
        if update:
            vector_to_parameters(weights - RATE * total / (Q * len(self.members)), self.net.parameters())
        return total

    def train(self, members, seed, init, queries):  # the same to its end, for games that see the final model
        self.start(members, seed, init)
        for _ in range(STEPS):
            self.step(self.batch(), torch.zeros(0).numpy(), True)
        z = self.net(X[queries]).detach()
        return torch.where(Y[queries] == 1, z[:, 1] - z[:, 0], z[:, 0] - z[:, 1])


if __name__ == "__main__":
    dpaudit.trainer.serve()
