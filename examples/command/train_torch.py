# SPDX-License-Identifier: GPL-3.0-or-later
"""An external trainer in Python: a small network on points that follow from their ids; a loss per query as NPY."""
import argparse

import numpy as np
import torch


def points(ids):
    """Features [points, 10] and labels [points], the same for the same id in every trial."""
    rows = [np.random.default_rng(int(i)).normal(size=11) for i in ids]
    table = torch.tensor(np.array(rows), dtype=torch.float32)
    return table[:, :10], (table[:, :10].sum(1) + table[:, 10] > 0).long()


def main():
    parser = argparse.ArgumentParser()
    for name in ("seed", "members", "queries", "out"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(int(args.seed))
    x, y = points(np.loadtxt(args.members, ndmin=1))
    model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    x, y = points(np.loadtxt(args.queries, ndmin=1))
    with torch.no_grad():
        losses = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
    np.save(args.out, losses.double().numpy())  # becomes OUT.npy, which is understood


if __name__ == "__main__":
    main()
