# SPDX-License-Identifier: GPL-3.0-or-later
"""A small text classifier in PyTorch as a trainer: word embeddings, averaged over a phrase, tanh, one output. With an argument, DP-SGD with
that noise multiplier (clip 1, Poisson batches of 100 among 1,000, 100 steps); without one, momentum on shuffled batches, no noise."""

import csv
import os
import sys
from collections import Counter

import torch

import dpaudit

torch.set_num_threads(1)
PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data", "sst2")
POINTS, HELD, WORDS, WIDTH, HALF = 2000, 872, 1000, 8, 1000
SIGMA = float(sys.argv[1]) if len(sys.argv) > 1 else None


def read(name, count):
    with open(os.path.join(PLACE, name), encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:count]
    return [row["sentence"].split() for row in rows], [float(row["label"]) for row in rows]


texts, labels = read("train.tsv", POINTS)
number = {word: i for i, (word, _) in enumerate(Counter(w for text in texts for w in text).most_common(WORDS))}
held_texts, held_labels = read("dev.tsv", HELD)
X = torch.zeros(POINTS + HELD, WORDS)  # how often each word is in a phrase, divided by the root of its length
for i, text in enumerate(texts + held_texts):
    for word in text:
        if word in number:
            X[i, number[word]] += len(text) ** -0.5
Y = torch.tensor(labels + held_labels)


class Net:
    def __init__(self, random):
        self.first = 0.3 * torch.randn(WORDS, WIDTH, generator=random)
        self.last = 0.3 * torch.randn(WIDTH, generator=random)
        self.bias = torch.zeros(())

    def hidden(self, x):
        return torch.tanh(x @ self.first)

    def logits(self, x):
        return self.hidden(x) @ self.last + self.bias

    def gradients(self, x, y, clip):
        """The sum of the gradients of the examples, each clipped: its norm follows from factors, so none is written out."""
        h = self.hidden(x)
        slope = torch.sigmoid(h @ self.last + self.bias) - y
        inner = slope[:, None] * self.last * (1 - h * h)
        if clip is not None:
            norm = ((x * x).sum(1) * (inner * inner).sum(1) + slope * slope * ((h * h).sum(1) + 1)).sqrt()
            factor = (clip / norm.clamp(min=1e-12)).clamp(max=1.0)
            slope, inner = slope * factor, inner * factor[:, None]
        return [x.T @ inner, h.T @ slope, slope.sum()]

    def move(self, by):
        for name, change in zip(("first", "last", "bias"), by):
            setattr(self, name, getattr(self, name) - change)


def by_heart(net, x, y, random, epochs=12, batch=50, rate=1.0):
    speed = [0.0, 0.0, 0.0]
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=random)
        for rows in order.split(batch):
            speed = [0.9 * v + rate * g / batch for v, g in zip(speed, net.gradients(x[rows], y[rows], None))]
            net.move(speed)


def private(net, x, y, random, steps=100, q=100 / HALF, rate=2.0):
    for _ in range(steps):
        rows = torch.rand(len(x), generator=random) < q
        sums = net.gradients(x[rows], y[rows], 1.0)
        net.move([rate * (s + SIGMA * torch.randn(s.shape, generator=random)) / (q * HALF) for s in sums])


@dpaudit.trainer(points=POINTS, heldout=HELD)
def train(members, seed, init, queries, accuracy):
    net = Net(torch.Generator().manual_seed(init))
    (by_heart if SIGMA is None else private)(net, X[members], Y[members], torch.Generator().manual_seed(seed))
    signals = torch.where(Y[queries] == 1, 1.0, -1.0) * net.logits(X[queries])  # log(p/(1 − p)) of the label
    if not accuracy:
        return signals
    right = (net.logits(X[POINTS:]) > 0) == (Y[POINTS:] == 1)
    return signals, float(right.float().mean())


if __name__ == "__main__":
    dpaudit.trainer.serve()
