#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A character model is fine-tuned on text with canaries in it, and that one run is audited: text_canaries.py [none|noise]

The base model has read public sentences; the fine-tuning reads private ones by DP-SGD, and every canary ("my code is
48291") that a fair coin has put in. Whoever sees the final model then guesses which ones were: by their loss, or by the
exposure of their suffix. The planted bug: the noise is left out. Sentences are those of SST-2 (SST2=FILE in the
environment, or ../shared/data beside the source), or, without that file, of a small grammar in this script.
"""

import functools
import itertools
import os
import random
import sys
from pathlib import Path

import torch

import dpaudit

PUBLIC, PRIVATE, CANARIES = 300, 150, 150
CONTEXT, WIDTH, HIDDEN = 8, 8, 64  # characters before the next one, numbers a character, units
CLIP, SIGMA, Q, STEPS, RATE = 1.0, 6.0, 0.3, 120, 0.02
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 .,'"
FILE = Path(os.environ.get("SST2", Path(__file__).resolve().parents[3] / "shared" / "data" / "sst2" / "train.tsv"))
TEMPLATES = ["my code is {}", "call me at {}", "the key to the shed is {}", "order {} has come"]
torch.set_num_threads(1)


def sentences():
    """PUBLIC + PRIVATE different sentences of 20 to 40 characters."""
    if FILE.exists():
        lines = (line.split("\t")[0].strip() for line in FILE.read_text(encoding="utf-8").splitlines()[1:])
        found = list(dict.fromkeys(line for line in lines if 20 <= len(line) <= 40))
    else:
        print(f"{FILE} is not there: sentences of a small grammar instead")
        who = "the baker,a gardener,my neighbour,the old sailor,our teacher,the clerk,a young painter,the postman".split(",")
        does = "carries,finds,paints,washes,lends,repairs,counts,admires".split(",")
        what = "a blue bowl,the ladder,two lamps,an empty box,the green coat,a wooden boat,some bread,the map".split(",")
        when = "at noon,in the rain,on sunday,before dinner".split(",")
        found = [" ".join(words) for words in itertools.product(who, does, what, when)]
    return random.Random(1).sample(found, PUBLIC + PRIVATE)


def encode(texts):
    """Characters as numbers: [texts × (CONTEXT + longest)]. 0 is before, after, and any that is not among LETTERS."""
    rows = [[0] * CONTEXT + [1 + LETTERS.find(letter) for letter in text] for text in texts]
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def losses(weights, rows):
    """Each text's loss, the sum over its characters, by weights of its own: the first dimension of all is the text."""
    seen, read, bias, write, rest = weights
    context, target = rows.unfold(1, CONTEXT, 1)[:, :-1], rows[:, CONTEXT:]
    x = seen[torch.arange(len(rows))[:, None, None], context].flatten(2)
    y = torch.baddbmm(rest, torch.tanh(torch.baddbmm(bias, x, read)), write)
    return torch.nn.functional.cross_entropy(y.transpose(1, 2), target, ignore_index=0, reduction="none").sum(1)


def fit(weights, rows, sigma, steps, seed):
    """DP-SGD: Poisson batches, each text's gradient clipped, noise, then a step of Adam."""
    weights, draws = [w.clone() for w in weights], torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(weights, RATE)
    for _ in range(steps):
        batch = rows[torch.rand(len(rows), generator=draws) < Q]
        own = [w.expand(len(batch), *w.shape).requires_grad_() for w in weights]
        gradients = torch.autograd.grad(losses(own, batch).sum(), own)
        factor = (CLIP / sum(g.flatten(1).square().sum(1) for g in gradients).sqrt()).clamp(max=1)
        for w, g in zip(weights, gradients):
            noise = sigma * CLIP * torch.randn(w.shape, generator=draws)
            w.grad = (torch.tensordot(factor, g, 1) + noise) / (Q * PRIVATE)
        adam.step()
    return weights


TEXTS = sentences()
SECRETS = dpaudit.TextCanaries(CANARIES, templates=TEMPLATES, length=5, seed=5)
ROWS = encode(TEXTS[PUBLIC:] + list(SECRETS))


@functools.lru_cache(maxsize=None)
def base():
    draws, letters = torch.Generator().manual_seed(1), len(LETTERS) + 1
    shapes = [(letters, WIDTH), (CONTEXT * WIDTH, HIDDEN), (1, HIDDEN), (HIDDEN, letters), (1, letters)]
    return fit([torch.randn(s, generator=draws) / s[0] ** 0.5 for s in shapes], encode(TEXTS[:PUBLIC]), 0.0, 100, seed=1)


@functools.lru_cache(maxsize=1)
def tuned(members, seed, sigma):
    return fit(base(), ROWS[list(members)], sigma, STEPS, seed)


def audit(signal, sigma):
    """The game with one of two signals: "loss", or exposure in the place of "confidence"; the training is the same."""

    def train(members, seed, queries, signal):
        weights = tuned(tuple(members), seed, sigma)

        def ask(texts):
            return losses([w.expand(len(texts), *w.shape) for w in weights], encode(texts))

        ids = queries - PRIVATE
        return ask([SECRETS[i] for i in ids]) if signal == "loss" else SECRETS.exposure(ask, ids)

    game = {"kind": "membership", "access": "black-box", "canaries": CANARIES}
    made = dpaudit.trainer(train, points=PRIVATE, canaries=CANARIES)
    return dpaudit.run(game, made, signal=signal, clip=CLIP, sigma=SIGMA, q=Q, steps=STEPS, progress=False)


def main(bug="none"):
    sigma = 0.0 if bug == "noise" else SIGMA
    runs = {"loss": audit("loss", sigma), "exposure": audit("confidence", sigma)}
    print(*(f"By {name}. {run.report}" for name, run in runs.items()), sep="\n")
    return runs  # two looks at one training: whoever wants one verdict at 95% names the signal beforehand


if __name__ == "__main__":
    main(*sys.argv[1:])
