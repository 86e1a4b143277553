# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdict conformance matrix: game × form of claim × family, each with a mechanism of known epsilon just below the claim and
one just above it.

Every cell judges a file as the game writes it (evidence.py) through the command, and asserts together: exit code, first line
of the text, the verdict of the JSON and the mark of the page. What the claim says, the noise that it stands for, the noise
that was shown and what follows for the whole training are compared with the accountant to 1e-6. What ties the files to what
games really write is tests/python/test_same_verdict.py.

usage: conformance.py [WORDS…]   only cells whose name has all of the words; $DPAUDIT is the command
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import evidence as made

N = 6000
MANY = 20000
DELTA = 1e-5
STATES = {0: ("not-refuted", "Not refuted: the claim", "○ Claim not refuted"),
          1: ("refuted", "REFUTED: the claim", "✗ Claim refuted"),
          5: ("inconclusive", "INCONCLUSIVE about", "? Inconclusive")}  # fmt: skip
failures = []
accounted = {}


def fail(cell, words):
    failures.append(cell)
    print(f"FAIL {cell}: {words}")
    if os.environ.get("DPA_STOP_AT_FIRST"):
        sys.exit(1)


def account(sigma, q=1.0, steps=1, neighbours="add-remove"):
    """Epsilon of DP-SGD as the accountant's interval."""
    key = (sigma, q, steps, neighbours)
    if key not in accounted:
        call = [os.environ["DPAUDIT"], "account", f"--sigma={sigma!r}", f"--q={q!r}", f"--steps={steps}",
                f"--adjacency={neighbours}", f"--delta={DELTA}", "--json"]  # fmt: skip
        accounted[key] = json.loads(subprocess.run(call, capture_output=True, check=True).stdout)["epsilon"]
    return accounted[key]


def delta_of(mu, epsilon):
    cdf = made.NORMAL.cdf
    return cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)


def solve(f, low, high):
    """Where the falling f is 0."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return low


def gaussian_epsilon(mu):
    return solve(lambda e: delta_of(mu, e) - DELTA, 0, 200)


def gaussian_mu(epsilon):
    return solve(lambda mu: DELTA - delta_of(mu, epsilon), 1e-3, 50)


# ── what games write ─────────────────────────────────────────────────────────────────────────────


def meta(game, scope="training", design="independent-runs", kind="scores", training=None, **more):
    return dict(kind=kind, scope=scope, design=design, game=game, training=training or {}, **more)


Q, T, SIGMA = 0.05, 200, 1.0  # of the training that white-box steps are from
STEP = {"q": Q, "steps": T, "sigma": SIGMA, "canary_rate": 1.0}
WHOLE = {"q": 1.0, "steps": 4, "sigma": 2.0}  # with full batches its steps are one Gaussian mechanism of μ = √4/2
GAMES = {
    "white-box": meta("white-box", scope="step", training=STEP),
    "white-box rate 0.5": meta("white-box", scope="step", training=dict(STEP, canary_rate=0.5)),
    "black-box": meta("black-box", training=WHOLE),
    "whole-training": meta("whole-training", training=dict(WHOLE, sees_all=True)),
    "one-run": meta("command", design="one-run"),
    "membership": meta("membership", design="one-run", training={"q": 1.0, "steps": 1, "sigma": 1.0}),
    "shadow": meta("shadow"),
    "federated": meta("federated", scope="participation", kind="cosines", design="one-run", dim=100000, direction="hadamard",
                      training={"steps": 40, "sigma": 2.0, "participations": 4.0},
                      facts={"canary_rounds": 4, "spread": 1, "fixed_divisor": 1}),
}  # fmt: skip
COMMANDS = {"one-run": "one-run", "membership": "one-run", "federated": "cosines"}

# Mechanisms by how much more they leak than the claim: 1 is the claim itself.
normal = lambda mu, n=N: lambda leak: made.normal(mu * leak, n)
sampled = lambda mu, q, n=MANY: lambda leak: made.sampled(mu * leak, q, n)
response = lambda epsilon, n=N: lambda leak: made.response(epsilon * leak, n)
laplace = lambda epsilon: lambda leak: made.laplace(epsilon * leak, N)


def write_curve():
    with open("curve.csv", "w") as out:
        out.write("fpr,fnr\n")
        for i in range(401):
            u = i / 400
            out.write(f"{u!r},{made.NORMAL.cdf(made.NORMAL.inv_cdf(1 - u) - 1) if 0 < u < 1 else 1 - u!r}\n")


# ── the cells ────────────────────────────────────────────────────────────────────────────────────

CLAIM = {
    "one": ["--claim-sigma=1"],
    "four": ["--claim-sigma=2", "--claim-q=1", "--claim-steps=4"],
    "steps": [f"--claim-sigma={SIGMA}", f"--claim-q={Q}", f"--claim-steps={T}"],
    "half": ["--claim-sigma=1", "--claim-q=0.5"],
}
REPLACE = ["--neighbours=replace-one"]


def epsilon(value):
    return [f"--claim-epsilon={value!r}", f"--claim-delta={DELTA}"]


def cells():
    """(game, form of claim, family, options, mechanism, leak below, leak above, what is claimed)"""
    e1, four = account(1.0)["upper"], account(2.0, 1.0, 4)["upper"]
    steps = account(SIGMA, Q, T)
    half = account(1.0, 0.5)["upper"]
    curve = ["--claim-curve=curve.csv"]
    replaced = account(SIGMA, Q, T, "replace-one")
    near = (0.99, 1.08)
    wide = (0.97, 1.2)
    # White box: scores of steps, claims about the training.
    for game, step, more in (("white-box", normal(1 / SIGMA), near),
                             ("white-box rate 0.5", sampled(1 / SIGMA, 0.5), (0.99, 1.5))):  # fmt: skip
        yield game, "epsilon", "-", epsilon(steps["upper"]), step, more, steps["upper"]
        yield game, "sigma,q,T", "-", CLAIM["steps"], step, more, steps["upper"]
        yield game, "replace-one epsilon", "-", epsilon(replaced["upper"]) + REPLACE, step, more, replaced["upper"]
        yield game, "replace-one", "-", CLAIM["steps"] + REPLACE, step, more, replaced["upper"]
    yield "white-box", "epsilon", "gaussian", epsilon(steps["upper"]) + ["--family=gaussian"], normal(1 / SIGMA), near, steps["upper"]
    yield ("white-box", "sigma,q,T", "dp", CLAIM["steps"] + ["--family=dp"], response(gaussian_epsilon(1 / SIGMA), MANY),
           (0.99, 1.1), steps["upper"])  # fmt: skip
    yield "white-box", "of one step", "-", ["--claim-sigma=1", "--claim-scope=step"], normal(1), near, e1
    yield "white-box", "curve of one step", "-", curve + ["--claim-scope=step"], normal(1), near, None
    # A training of which every step is seen, and one of which only the model is.
    for game in ("whole-training", "black-box"):
        yield game, "sigma,q,T", "-", CLAIM["four"], normal(1), near, four
        yield game, "sigma", "gaussian", CLAIM["one"] + ["--family=gaussian"], normal(1), near, e1
        yield game, "sigma, q below 1", "-", CLAIM["half"], sampled(1, 0.5), (0.99, 1.4), half
        yield game, "curve", "-", curve, normal(1), near, None
        yield game, "replace-one", "-", ["--claim-sigma=2"] + REPLACE, normal(1), near, account(2.0, neighbours="replace-one")["upper"]
        yield game, "sigma", "dp", CLAIM["one"] + ["--family=dp"], response(e1, MANY), (0.99, 1.1), e1
    yield "whole-training", "epsilon", "-", epsilon(four), normal(1), near, four
    yield "black-box", "epsilon", "-", epsilon(1.0), response(1.0), wide, 1.0
    # Evidence that says nothing of the training: any mechanism, or the family that is named.
    for game in ("black-box", "shadow"):
        yield game, "epsilon", "gaussian", epsilon(e1) + ["--family=gaussian"], normal(1), near, e1
        yield game, "epsilon", "laplace", epsilon(1.0) + ["--family=laplace"], laplace(1.0), wide, 1.0
        yield (game, "epsilon", "subsampled-gaussian", epsilon(half) + ["--family=subsampled-gaussian:q=0.5,steps=1"],
               sampled(1, 0.5), (0.99, 1.4), half)  # fmt: skip
    yield "shadow", "epsilon", "dp+gaussian", epsilon(e1) + ["--family=dp+gaussian"], normal(1), (0.99, 1.3), e1
    yield "shadow", "epsilon", "-", epsilon(1.0), response(1.0), wide, 1.0
    yield "shadow", "sigma", "-", CLAIM["one"], normal(1), near, e1
    yield "shadow", "curve", "-", curve, normal(1), near, None
    yield "shadow", "replace-one epsilon", "-", epsilon(1.0) + REPLACE, response(1.0), wide, 1.0
    # One run.
    few = 4000
    yield "one-run", "epsilon", "-", epsilon(1.0), response(1.0, few), wide, 1.0
    yield "one-run", "epsilon", "gaussian", epsilon(e1) + ["--family=gaussian"], normal(1, few), (0.95, 1.8), e1
    yield "one-run", "epsilon", "laplace", epsilon(1.0) + ["--family=laplace"], lambda leak: made.laplace(leak, few), (0.9, 1.8), 1.0
    yield "one-run", "sigma", "-", CLAIM["one"], normal(1, few), (0.95, 1.8), e1
    yield "one-run", "curve", "-", curve, normal(1, few), (0.95, 1.8), None
    yield "one-run", "replace-one epsilon", "-", epsilon(1.0) + REPLACE, response(1.0, few), wide, 1.0
    yield "membership", "epsilon", "-", epsilon(e1), normal(1, few), (0.95, 1.8), e1
    yield "membership", "sigma", "-", CLAIM["one"], normal(1, few), (0.95, 1.8), e1
    yield "membership", "replace-one", "-", ["--claim-sigma=2"] + REPLACE, normal(1, few), (0.95, 1.8), account(2.0, neighbours="replace-one")["upper"]
    # Federated: the score of a canary is over its four rounds.
    canaries = normal(1)
    yield "federated", "epsilon", "-", epsilon(four), canaries, near, four
    yield "federated", "sigma,q,T", "-", CLAIM["four"], canaries, near, four
    yield ("federated", "sigma, Poisson", "-", ["--claim-sigma=2", "--claim-q=0.1", "--claim-steps=40"], canaries, near,
           account(2.0, 0.1, 40)["upper"])  # fmt: skip
    yield "federated", "epsilon", "dp", epsilon(1.0) + ["--family=dp"], response(1.0), wide, 1.0
    yield "federated", "epsilon", "gaussian", epsilon(four) + ["--family=gaussian"], canaries, near, four
    yield "federated", "sigma of a participation", "-", ["--claim-sigma=2", "--claim-scope=participation"], canaries, near, four
    yield "federated", "epsilon of a participation", "-", epsilon(four) + ["--claim-scope=participation"], canaries, near, four
    yield "federated", "curve", "-", curve, lambda leak: made.normal(leak * claimed_mu(), N), near, None


def claimed_mu():
    """μ of the Gaussian mechanism with the ε that the curve file has at δ."""
    call = [os.environ["DPAUDIT"], "counts", "--fn=5", "--tp=5", "--fp=5", "--tn=5", "--claim-curve=curve.csv", "--json"]
    return gaussian_mu(json.loads(subprocess.run(call, capture_output=True).stdout)["verdict"]["claim"]["epsilon"])


# Cells that mean nothing, or that no game makes, and why.
EMPTY = """
white box × microbatches: the game refuses them, a canary must be clipped by itself (also one run, federated)
microbatches × the others: the file of a microbatch training claims half of its noise; test_same_verdict.py plays one
white box × curve of the training: judged through the noise, by the ε of the curve at δ; "stops" below has the family points
white box × laplace, points: a bound on a Laplace step says nothing about Gaussian noise ("stops" below)
curve × replace-one: a curve is already a statement about its pair of data sets
federated × laplace, points: about the canaries' own rounds; a participation that is claimed otherwise does not follow ("stops" below)
federated × replace-one: canaries are in or out; the bound for that holds, but is not tight ("stops" below)
"""

# Cells in which nothing may be decided, or nothing judged: (game, name, options, exit code, words).
STOPS = [
    ("white-box", "laplace", CLAIM["steps"] + ["--family=laplace"], 5, "says nothing about the noise of a step"),
    ("white-box", "points", CLAIM["steps"] + ["--family=points:curve.csv"], 5, "says nothing about the noise of a step"),
    ("white-box", "never in", CLAIM["steps"], 5, "the canary took part"),
    ("federated", "laplace", ["--claim-sigma=2", "--claim-q=0.1", "--claim-steps=40", "--family=laplace"], 5,
     "says nothing about another participation"),
    ("federated", "two families", CLAIM["four"] + ["--family=dp+gaussian"], 2, "one family"),
    ("federated", "replace-one", CLAIM["four"] + REPLACE, 0, "Not refuted"),
    ("shadow", "unknown family", epsilon(1.0) + ["--family=nonsense"], 2, "nonsense"),
    ("one-run", "smaller delta", epsilon(1.0) + ["--delta=1e-9"], 2, "cannot be compared"),
]

# ── one cell ─────────────────────────────────────────────────────────────────────────────────────


def judge(game, options, arrays):
    made.write("evidence.npz", arrays, **GAMES[game])
    for old in ("out.json", "page.html"):
        if os.path.exists(old):
            os.remove(old)
    call = [os.environ["DPAUDIT"], COMMANDS.get(game, "scores"), "evidence.npz", "--json=out.json", "--report=page.html"]
    return subprocess.run(call + options, capture_output=True, text=True)


def close(a, b):
    return abs(a - b) <= 1e-6 * max(1.0, abs(b))


def check_forms(cell, done, want):
    """Exit code, text, JSON and page say the same."""
    state, first, mark = STATES[want]
    if done.returncode != want:
        return fail(cell, f"exit {done.returncode}, want {want}: {done.stdout[:400]}{done.stderr[:200]}")
    with open("out.json") as f:
        result = json.load(f)
    with open("page.html") as f:
        page = f.read()
    verdict = result["verdict"]
    if verdict["state"] != state or verdict["refuted"] != (want == 1):
        fail(cell, f"the JSON says {verdict['state']}, {verdict['refuted']}")
    if not verdict["headline"].startswith(first) or " ".join(done.stdout.split()).find(verdict["headline"]) != 0:
        fail(cell, f"the text does not begin with the headline: {done.stdout[:200]}")
    marks = [m for _, _, m in STATES.values() if f'<p class="mark">{m}</p>' in page]
    if marks != [mark]:
        fail(cell, f"the page has the marks {marks}")
    for c, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("'", "&#39;")):
        verdict["headline"] = verdict["headline"].replace(c, written)
    if f'<p class="headline">{verdict["headline"]}</p>' not in page:
        fail(cell, "the page has another headline")
    primary = [r for r in result["results"] if r["role"] == "primary"]
    if not primary:
        return fail(cell, "nothing decides")
    if primary[0]["epsilon_lower"] != verdict["epsilon_lower"] and "+" not in cell:
        fail(cell, "the verdict has another bound than the row that decides")
    return result


def check_numbers(cell, game, options, result, claimed):
    """Against the accountant."""
    verdict, facts = result["verdict"], result["evidence"]
    if claimed is not None and not close(verdict["claim"]["epsilon"], claimed):
        fail(cell, f"claimed ε {verdict['claim']['epsilon']!r}, the accountant says {claimed!r}")
    if verdict["state"] == "not-refuted" and "would_detect" in verdict:
        seen = [x for k, x in verdict["would_detect"].items() if k.startswith("epsilon") and x is not None]
        if any(x < verdict["claim"]["epsilon"] for x in seen):
            fail(cell, f"would have detected less than the claim: {verdict['would_detect']}")
    if not game.startswith("white-box") or "--claim-scope=step" in options:
        return
    neighbours = "replace-one" if REPLACE[0] in options else "add-remove"
    shown = account(facts["sigma_at_most"], Q, T, neighbours)["lower"]
    if not close(verdict["epsilon_lower"], shown):
        fail(cell, f"ε of the training {verdict['epsilon_lower']!r}, the accountant says {shown!r}")
    if "--claim-sigma" in " ".join(options):
        if facts["claimed_sigma"] != SIGMA:
            fail(cell, f"claimed σ {facts['claimed_sigma']!r}, not {SIGMA}")
    else:  # the noise that an ε stands for: none that the claim forbids, and no more than a hair less
        stands = account(facts["claimed_sigma"], Q, T, neighbours)
        if not claimed - 1e-6 <= stands["upper"] <= 1.002 * claimed:
            fail(cell, f"σ {facts['claimed_sigma']!r} is claimed to stand for ε {claimed!r}, the accountant says {stands}")
    step = [r for r in result["results"] if r["scope"] == "step"][0]
    if step["family"] == "gaussian" and not close(1 / step["parameter"]["lower"], facts["sigma_at_most"]):
        fail(cell, f"σ at most {facts['sigma_at_most']!r}, μ of the step {step['parameter']!r}")


def play(wanted):
    count = 0
    for game, form, family, options, mechanism, leaks, claimed in cells():
        cell = f"{game} | {form} | {family}"
        if not all(w in cell for w in wanted):
            continue
        for leak, want in zip(leaks, (0, 1)):
            count += 1
            done = judge(game, options, mechanism(leak))
            result = check_forms(f"{cell} | {leak}", done, want)
            if result:
                check_numbers(f"{cell} | {leak}", game, options, result, claimed)
    for game, name, options, want, words in STOPS:
        cell = f"{game} | stops | {name}"
        if not all(w in cell for w in wanted):
            continue
        count += 1
        done = judge(game, options, made.normal(made.NOTHING if name == "never in" else 1.0, N))
        if done.returncode != want or words not in " ".join((done.stdout + done.stderr).split()):
            fail(cell, f"exit {done.returncode}, want {want}: {done.stdout[:300]}{done.stderr[:300]}")
    return count


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_curve()
        count = play(sys.argv[1:])
        print(f"{count} verdicts, {len(failures)} failures")
        os.chdir("/")
    return 1 if failures else 0


sys.exit(main())
