# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures 1, 2 and 6 of "Epsilon*": many trained models, their utility and their Epsilon*.

A set of data and a list of strategies; every strategy is trained with five seeds by `dpaudit train`, its five models go
through `dpaudit losses`, all runs through `dpaudit landscape`. Runs are kept as rows of a CSV, so a stopped script goes on.
"""
import atexit
import collections
import concurrent.futures
import csv
import json
import lzma
import math
import os
import random
import subprocess
import sys
import tarfile
import tempfile

import numpy as np

import pages
import svgplot

SEEDS, EPSILONS, CLIPS = 5, (1, 3, 10, 100), (1, 10, 30)
SHOWN = (1, 2, 5, 10, 20)  # components of figure 6
METHODS = ("normal", "empirical", "simultaneous")  # the paper's, and a bound
COLUMNS = ("strategy", "group", "seed", "utility", "train_utility", "sigma", "dp_epsilon") + METHODS

Strategy = collections.namedtuple("Strategy", "name group epochs batch epsilon clip microbatch")
Study = collections.namedtuple("Study", "figure rows data model loss utility strategies")


def adult(shared):
    """As in section 4.1: epochs alone, and ε × clip × batch × 32 microbatches or none."""
    strategies = [Strategy(f"{e} epochs, batch {b}", "baseline", e, b, 0, 0, 1) for e in (1, 5, 10, 20) for b in (64, 512)]
    strategies += [Strategy(f"ε {e}, batch {b}, clip {c}, groups of {m}", "dp", 10, b, e, c, m)
                   for e in EPSILONS for b in (64, 512) for c in CLIPS for m in (1, b // 32)]
    data = (f"{{format: table, path: {shared}/data/adult/adult.data, test: {shared}/data/adult/adult.test, header: false, "
            'comment: "|", strip: ".", standardise: true}')
    return Study("figure2", 32561, data, "dense:128 tanh", "binary", "auroc", strategies)


def location(shared):
    """Purchase-100 is not here; Location-30 is of the same kind: binary features, many classes, easily overfitted."""
    rows = 2505
    strategies = [Strategy(f"{e} epochs", "baseline", e, 64, 0, 0, 1) for e in (10, 50, 100)]
    strategies += [Strategy(f"ε {e}, batch {b}, clip {c}", "dp", 50, b, e, c, 1)
                   for e in EPSILONS for b in (64, 256) for c in CLIPS]
    data = (f"{{format: table, path: {shared}/data/location30/dataset_location.tgz, header: false, label: c1, "
            f"members: 0..{rows}, heldout: {rows}..5010}}")
    return Study("figure1", rows, data, "mlp:100,100,100", "softmax", "accuracy", strategies)


def shuffled(path):
    """The rows in a random order (a fixed one), as a file that lives as long as this process."""
    with lzma.open(path, "rt") as f:
        head, *rows = f.readlines()
    random.Random(1).shuffle(rows)
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    out = os.path.join(folder.name, "rows.csv")
    with open(out, "w") as f:
        f.writelines([head, *rows])
    return out


def diabetes(shared):
    """A larger set than the paper's: 101,766 hospital encounters, will the patient come back? Identifiers and the diagnosis codes
    (700 and more values each) are left out; a random half to train on (the file is in order of time)."""
    rows = 50883
    strategies = [Strategy(f"{e} epochs", "baseline", e, 256, 0, 0, 1) for e in (1, 10)]
    strategies += [Strategy(f"ε {e}, clip {c}", "dp", 2, 1024, e, c, 1) for e in (1, 10) for c in (1, 10)]
    data = (f"{{format: table, path: {shuffled(f'{shared}/data/diabetes130/diabetic_data.csv.xz')}, label: readmitted, "
            "ignore: [encounter_id, patient_nbr, diag_1, diag_2, diag_3], standardise: true, "
            f"members: 0..{rows}, heldout: {rows}..101766}}")
    return Study("diabetes", rows, data, "mlp:64", "softmax", "accuracy", strategies)


STUDIES = {"figure1": location, "figure2": adult, "diabetes": diabetes}  # the last for `models` only


def delta_of(study):
    """The paper's 1/(n log n)."""
    return 1 / (study.rows * math.log(study.rows))


def settings(study, strategy, sigma):
    text = [f"data: {study.data}", f'model: "{study.model}"', f"loss: {study.loss}"]
    sampling = "poisson" if strategy.epsilon else "shuffle"
    text.append(f"train: {{sampling: {sampling}, epochs: {strategy.epochs}, batch: {strategy.batch}, rate: 0.01, momentum: 0.9}}")
    if strategy.epsilon:
        noise = f"sigma: {sigma!r}" if sigma else f"epsilon: {strategy.epsilon}"
        text.append(f"privacy: {{clip: {strategy.clip}, {noise}, delta: {delta_of(study)!r}, microbatch: {strategy.microbatch}}}")
    return "\n".join(text) + "\n"


def command(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(w) for w in words)}: {done.stderr}")
    return done.stdout


def footnote_losses(folder, part):
    """The paper's footnote 1 from the outputs: −log(p/(1−p)) of the true class, without ever forming p."""
    z, cross_entropy = (np.load(os.path.join(folder, f"{part}-{what}.npy")).astype(float) for what in ("logits", "losses"))
    if z.ndim == 1 or z.shape[1] == 1:
        z = np.abs(z.reshape(-1))
        return np.where(cross_entropy > math.log(2), z, -z)
    top = z.max(axis=1, keepdims=True)
    each = top + np.log(np.exp(z - top).sum(axis=1, keepdims=True)) - z  # the loss that every label would have
    label = np.abs(each - cross_entropy[:, None]).argmin(axis=1)[:, None]
    own = np.take_along_axis(z, label, axis=1)
    others = np.where(np.arange(z.shape[1]) == label, -np.inf, z)
    top = others.max(axis=1, keepdims=True)
    return (top + np.log(np.exp(others - top).sum(axis=1, keepdims=True)) - own).reshape(-1)


def train(dpaudit, study, strategy, seed, sigma, folder):
    """One model: its result.json, and the losses in folder/losses.npz."""
    file, out = os.path.join(folder, "model.yaml"), os.path.join(folder, f"{seed}")
    with open(file, "w") as f:
        f.write(settings(study, strategy, sigma))
    command(dpaudit, "train", file, "--seed", seed, "--output", out)
    np.savez(os.path.join(folder, f"{seed}.npz"), train=footnote_losses(out, "train"), heldout=footnote_losses(out, "heldout"))
    return json.load(open(os.path.join(out, "result.json")))


def runs_of(dpaudit, study, strategy):
    with tempfile.TemporaryDirectory() as folder:
        results, sigma = [], None
        for seed in range(1, SEEDS + 1):
            results.append(train(dpaudit, study, strategy, seed, sigma, folder))
            sigma = results[0].get("privacy", {}).get("sigma")
        files = [os.path.join(folder, f"{seed}.npz") for seed in range(1, SEEDS + 1)]
        # one by one, because bounds of models given together would share the error
        found = {m: [json.loads(command(dpaudit, "losses", file, "--method", m, "--delta", delta_of(study), "--bootstrap", 0, "--json"))
                     ["results"][0] for file in files] for m in METHODS}
    rows = []
    for i, r in enumerate(results):
        values = [found[m][i] for m in METHODS]
        values = [v["epsilon"] if v["guarantee"] == "estimate" else v["epsilon_lower"] for v in values]
        privacy = r.get("privacy", {"sigma": 0, "epsilon": {"upper": math.inf}})
        rows.append([strategy.name, strategy.group, i + 1, r["heldout"][study.utility], r["train"][study.utility], privacy["sigma"],
                     privacy["epsilon"]["upper"]] + values)
    return rows


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as f:
        return [[float(v) if i > 1 else v for i, v in enumerate(row)] for row in list(csv.reader(f))[1:]]


def write(path, rows):
    pages.write(path, COLUMNS, rows)


def all_runs(dpaudit, study, path):
    """Rows of every strategy; those in the file are not made again."""
    rows = read(path)
    done = collections.Counter(row[0] for row in rows)
    missing = [s for s in study.strategies if done[s.name] < SEEDS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for strategy, new in zip(missing, pool.map(lambda s: runs_of(dpaudit, study, s), missing)):
            rows += [[float(v) if i > 1 else v for i, v in enumerate(row)] for row in new]
            write(path, rows)
            print(strategy.name, *(f"{row[3]:.4f}/{row[7]:.3f}" for row in new), flush=True)
    order = {s.name: i for i, s in enumerate(study.strategies)}
    rows = sorted((r for r in rows if r[0] in order), key=lambda r: (order[r[0]], r[2]))
    write(path, rows)
    return rows


def landscape(dpaudit, rows):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "landscape.csv")
        with open(path, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(("strategy", "utility", "epsilon", "group"))
            out.writerows((r[0], r[3], r[7], r[1]) for r in rows)
        return json.loads(command(dpaudit, "landscape", path, "--json"))["landscape"]


def cell(rows, column):
    values = [r[column] for r in rows]
    return f"{sum(values) / len(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def table(rows, utility, on_frontier):
    lines = [f"| strategy | σ | {utility}, held out | train | ε* normal | ε* empirical | lower bound at 95%, largest | frontier |", "|---|---|---|---|---|---|---|---|"]
    for name in dict.fromkeys(r[0] for r in rows):
        own = [r for r in rows if r[0] == name]
        sigma = f"{own[0][5]:.3f}" if own[0][5] else ""
        lines.append(f"| {name} | {sigma} | {cell(own, 3)} | {cell(own, 4)} | {cell(own, 7)} | {cell(own, 8)} | "
                     f"{max(r[9] for r in own):.3f} | {'yes' if name in on_frontier else ''} |")
    return lines


def figure(dpaudit, shared, out_folder, name, replace):
    """Runs what is missing, then CSV, SVG and the table of the README."""
    study = STUDIES[name](shared)
    rows = all_runs(dpaudit, study, os.path.join(out_folder, f"{name}.csv"))
    land = landscape(dpaudit, rows)
    replace(name, table(rows, study.utility, {p["strategy"] for p in land["frontier"]}))
    points = {g: [(p["epsilon"]["mean"], p["utility"]["mean"]) for p in land["points"] if p["group"] == g] for g in ("baseline", "dp")}
    frontier = sorted((p["epsilon"]["mean"], p["utility"]["mean"]) for p in land["frontier"])
    svgplot.figure(os.path.join(out_folder, f"{name}.svg"), "Utility and Epsilon*",
                   [("five models each", [("baseline", points["baseline"], "dots"), ("dp", points["dp"], "dots"), ("frontier", frontier, "line")])],
                   "Epsilon* (normal)", study.utility, is_log=False)


ALL_METHODS = ("binormal", "empirical", "normal", "tail", "mixture", "simultaneous")
SHOWN_MODELS = (("figure1", ("10 epochs", "50 epochs", "100 epochs", "ε 1, batch 256, clip 10", "ε 3, batch 64, clip 30")),
                ("figure2", ("20 epochs, batch 64", "10 epochs, batch 64", "ε 1, batch 64, clip 30, groups of 2")),
                ("diabetes", ("1 epochs", "10 epochs", "ε 1, clip 1", "ε 10, clip 1", "ε 1, clip 10")))


def models(dpaudit, shared, out_folder, replace):
    """One model each of some strategies: every method with its interval, and the bound by Definition 1."""
    rows, lines = [], ["| data | strategy | utility | " + " | ".join(ALL_METHODS) + " | by Definition 1 |",
                       "|---|---|---|" + "---|" * (len(ALL_METHODS) + 1)]
    for figure_name, names in SHOWN_MODELS:
        study = STUDIES[figure_name](shared)
        for strategy in (s for s in study.strategies if s.name in names):
            with tempfile.TemporaryDirectory() as folder:
                result = train(dpaudit, study, strategy, 1, None, folder)
                words = [dpaudit, "losses", os.path.join(folder, "1.npz"), "--delta", delta_of(study), "--json"]
                found = {r["method"]: r for r in json.loads(command(*words))["results"]}
                whole = json.loads(command(*words, "--method", "simultaneous", "--whole-training-set"))["results"][0]["epsilon_lower"]
            cells = []
            for m in ALL_METHODS:
                r = found.get(m, {"epsilon": math.nan, "epsilon_lower": math.nan, "epsilon_upper": math.nan})
                bound = m == "simultaneous"
                rows.append((figure_name, strategy.name, m, "" if bound else r["epsilon"], r["epsilon_lower"], "" if bound else r["epsilon_upper"]))
                cells.append("" if m not in found else f"{r['epsilon_lower']:.2f}" if bound else f"{r['epsilon']:.2f} ({r['epsilon_lower']:.2f}–{r['epsilon_upper']:.2f})")
            data = {"figure1": "Location-30", "figure2": "Adult", "diabetes": "diabetes130"}[figure_name]
            lines.append(f"| {data} | {strategy.name} | {result['heldout'][study.utility]:.3f} | " + " | ".join(cells) + f" | {whole:.2f} |")
            print(lines[-1], flush=True)
    pages.write(os.path.join(out_folder, "models.csv"), ("data", "strategy", "method", "epsilon", "lower", "upper"), rows)
    replace("models", lines)


SPLITS = 10
RESAMPLED = ("10 epochs", "50 epochs", "ε 3, batch 64, clip 1", "ε 100, batch 256, clip 30")


def splits(shared):
    """Location-30 with its rows in ten random orders: the first half to train on is then a random draw from the pool."""
    with tarfile.open(os.path.join(shared, "data", "location30", "dataset_location.tgz")) as archive:
        rows = archive.extractfile(archive.next()).read().decode().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(SPLITS):
            random.Random(100 + i).shuffle(rows)
            path = os.path.join(folder, "rows.csv")
            with open(path, "w") as f:
                f.write("\n".join(rows) + "\n")
            yield path


def mechanism(dpaudit, shared, out_folder, replace):
    """Ten models of a strategy, each on its own random half: what that says about the mechanism (Theorem 4)."""
    study = location(shared)
    strategies = [s for s in study.strategies if s.name in RESAMPLED]
    sigma, lines = {}, ["| strategy | ε of DP training | ε* binormal, mean (least–most) | log E e^ε* | averaged: ε of the mechanism at least |",
                        "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for i, path in enumerate(splits(shared)):
            data = f"{{format: table, path: {path}, header: false, label: c1, members: 0..{study.rows}, heldout: {study.rows}..5010}}"
            for strategy in strategies:
                where = os.path.join(folder, strategy.name)
                os.makedirs(where, exist_ok=True)
                result = train(dpaudit, study._replace(data=data), strategy, i + 1, sigma.get(strategy.name), where)
                sigma[strategy.name] = result.get("privacy", {}).get("sigma")
        for strategy in strategies:
            files = [os.path.join(folder, strategy.name, f"{i + 1}.npz") for i in range(SPLITS)]
            words = [dpaudit, "losses", *files, "--delta", delta_of(study), "--bootstrap", 0, "--json"]
            found = [r["epsilon"] for r in json.loads(command(*words, "--method", "binormal"))["results"]]
            bound = json.loads(command(*words, "--method", "simultaneous", "--resampled"))["results"]
            bound = next(r for r in bound if r["method"] == "averaged")["epsilon_lower"]
            together = math.log(sum(math.exp(e) for e in found[:SPLITS]) / SPLITS)
            mean = sum(found[:SPLITS]) / SPLITS
            lines.append(f"| {strategy.name} | {strategy.epsilon or ''} | {mean:.2f} ({min(found):.2f}–{max(found):.2f}) | {together:.2f} | {bound:.2f} |")
            print(lines[-1], flush=True)
    replace("mechanism", lines)


def figure6(dpaudit, shared, out_folder, replace):
    """KS p-values of mixtures with 1 to 20 components on the training losses of one Adult model of each kind."""
    study = adult(shared)
    rows, lines = [], ["| model | components | " + " | ".join(str(n) for n in range(100, 1001, 100)) + " |", "|---|---|" + "---|" * 10]
    panels = []
    for group, name in (("without DP", "10 epochs, batch 64"), ("DP, ε = 3", "ε 3, batch 64, clip 1, groups of 1")):
        strategy = next(s for s in study.strategies if s.name == name)
        with tempfile.TemporaryDirectory() as folder:
            train(dpaudit, study, strategy, 1, None, folder)
            found = json.loads(command(dpaudit, "losses", os.path.join(folder, "1.npz"), "--method", "normal", "--bootstrap", 0,
                                       "--goodness", SHOWN[-1], "--json"))["epsilon_star"]["goodness"]
        own = [(group, g["components"], g["samples"], g["p_value"]) for g in found if g["losses"] == "training"]
        rows += own
        for k in SHOWN:
            lines.append(f"| {group} | {k} | " + " | ".join(f"{p:.3f}" for _, kk, _, p in own if kk == k) + " |")
        panels.append((group, [(f"{k}", [(n, p) for _, kk, n, p in own if kk == k], "line") for k in SHOWN]))
        print(group, sum(p > 0.05 for *_, p in own), "of", len(own), "above 0.05", flush=True)
    pages.write(os.path.join(out_folder, "figure6.csv"), ("model", "components", "samples", "p_value"), rows)
    replace("figure6", lines)
    svgplot.figure(os.path.join(out_folder, "figure6.svg"), "KS p-values by components", panels, "samples", "p-value", is_log=False)
