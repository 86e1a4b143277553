# SPDX-License-Identifier: GPL-3.0-or-later
"""The battery: every check turns the record into a p-value, a number with a two-sided interval, and words.

The list of checks is fixed. Each gives one p-value that is valid when the training is as promised; Holm's rule over
the list keeps the chance of any false alarm below the battery's share of the error. Intervals are at that share
divided by the number of checks. What a failed check means is decided afterwards: a defect that another one explains is
not named twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import numpy as np

from . import _watch_laws as laws
from ._watch import Promise
from ._watch_record import DIRECTIONS, LOW_BITS, SKETCH, Record

POWER = 0.8
_MOST_COMPARED = 4000  # steps that are compared pair by pair
_BITS_ALLOWED = 8.0  # rounding of sound sums gives 1 to 3 times the zeros of chance; a coarse grid 256 times


@dataclass
class Check:
    """One line of the battery. `state`: "as promised", "defect", "explained" (by another defect), "not checked"."""

    name: str
    p: float = 1.0
    ratio: Optional[float] = None
    interval: Optional[tuple[float, float]] = None
    what: str = ""  # the number's name
    words: str = ""  # the defect in words, when it is one
    would: str = ""  # what would have been detected
    look: str = ""  # the part of the code: noise, clip, sample, claim
    state: str = "as promised"
    adjusted: float = 1.0
    extra: dict[str, Any] = field(default_factory=dict)

    def skip(self, why: str) -> "Check":
        self.state, self.would = "not checked", why
        return self


class Numbers:
    """The record with what all checks share: level, effective number of independent looks, measured noise."""

    def __init__(self, claim: Promise, record: Record, asked: list[dict[str, Any]], alpha: float) -> None:
        self.claim, self.record, self.asked, self.alpha = claim, record, asked, alpha
        self.repeats = find_repeats(record, alpha)
        self.fresh = self.repeats.distinct / max(self.repeats.compared, 1) if self.repeats.found(alpha) else 1.0
        self.noise = math.sqrt(record.energy / record.dof) if record.dof > 0 else 0.0

    @property
    def z(self) -> float:
        return laws.normal_quantile(self.alpha / 2.0)

    @property
    def z_power(self) -> float:
        return self.z + laws.normal_quantile(1.0 - POWER)


# ── noise ─────────────────────────────────────────────────────────────────────────────────────────


def _times(ratio: float) -> str:
    return f"{ratio:.2f} × promised" if ratio >= 0.005 else "missing"


def _scale_hint(claim: Promise, low: float, high: float) -> str:
    if abs(claim.clip - 1.0) > 0.02 and low <= 1.0 / claim.clip <= high:
        return f" (1/C: is it multiplied by the clip norm C = {claim.clip:g}?)"
    for parts in range(2, 33):
        if low <= 1.0 / math.sqrt(parts) <= high:
            return f" (1/√{parts}: added to {parts} micro-batches and averaged?)"
        if low <= math.sqrt(parts) <= high:
            return f" (√{parts}: added {parts} times?)"
    return ""


def noise_scale(n: Numbers) -> Check:
    check, r = Check("noise", what="σ / promised σ", look="noise"), n.record
    energy, mean = r.energy * n.fresh, r.dof * n.fresh
    rounding = 1.0 + r.rounding / r.looks
    below = laws.matched_gamma(energy, mean, 2.0 * mean)[0]
    above = laws.matched_gamma(energy / rounding, mean, 2.0 * mean)[1]
    check.p = min(1.0, 2.0 * min(below, above))
    low, high = laws.ratio_interval(energy, mean, 2.0 * mean, n.alpha)
    check.ratio, check.interval = n.noise, (math.sqrt(low), math.sqrt(high))
    hint = _scale_hint(n.claim, *check.interval)
    check.words = f"the noise is {_times(n.noise)}{hint}" if n.noise >= 0.005 else "there is no noise"
    least = n.z_power / math.sqrt(2.0 * mean)
    check.would = f"noise below {1 - least:.3f} or above {1 + least:.3f} × promised"
    return check


def noise_tensors(n: Numbers) -> Check:
    """Every tensor's noise against that of all others."""
    check, r = Check("noise per tensor", what="σ of the furthest tensor / promised σ", look="noise"), n.record
    energy, mean, variance = (row * n.fresh for row in r.by_tensor[:3])
    count = len(mean)
    p_values = np.ones(count)
    for k in range(count):
        others, rest = energy.sum() - energy[k], mean.sum() - mean[k]
        if rest < 32.0 or mean[k] <= 0.0:
            continue
        scale = max(others / rest, 1e-12)
        spread = variance[k] + mean[k] ** 2 * 2.0 / rest
        low, high = laws.matched_gamma(energy[k] / scale, mean[k], spread)
        p_values[k] = min(1.0, 2.0 * min(low, high))
    if count < 2:
        return check.skip("one tensor only")
    check.p = min(1.0, count * float(p_values.min()))
    raw, dof = r.by_tensor[5] * n.fresh, r.layout.counts * r.looks * n.fresh
    # A quiet tensor gets some of the others' noise by the projection; r itself has none, but all of a wrong clip.
    quiet = raw / dof < energy / np.maximum(mean, 1e-300)
    shown, base, width = np.where(quiet, raw, energy), np.where(quiet, dof, mean), np.where(quiet, 2.0 * dof, variance)
    own = np.sqrt(shown / np.maximum(base, 1e-300))
    bad = [k for k in range(count) if _off(energy[k], mean[k], variance[k], n.alpha / count)]
    failing = [k for k in range(count) if p_values[k] * count <= n.alpha]
    bad = [k for k in bad if k in failing] or bad or failing
    worst = bad[int(np.argmax(np.abs(np.log(np.maximum(own[bad], 1e-6)))))] if bad else int(np.argmin(p_values))
    low, high = laws.ratio_interval(shown[worst], base[worst], width[worst], n.alpha / count)
    check.ratio, check.interval = float(own[worst]), (math.sqrt(low), math.sqrt(high))
    named = [f"no noise on {r.layout.names[k]}" if own[k] < 0.02 else f"noise on {r.layout.names[k]} is {own[k]:.2f} × promised" for k in bad]
    check.words = ", ".join(named[:4]) + (f" and {len(named) - 4} more" if len(named) > 4 else "")
    check.extra = {"bad": bad, "tensor": r.layout.names[worst]}
    least = (laws.normal_quantile(n.alpha / count / 2.0) + laws.normal_quantile(1.0 - POWER)) / math.sqrt(2.0 * max(float(mean.min()), 1.0))
    check.would = f"a tensor with noise below {max(0.0, 1 - least):.2f} or above {1 + least:.2f} × the others'"
    return check


def _off(energy: float, mean: float, variance: float, alpha: float) -> bool:
    low, high = laws.matched_gamma(energy, mean, variance)
    return 2.0 * min(low, high) <= alpha


def noise_shape(n: Numbers) -> Check:
    """The fourth moment, tensor by tensor."""
    check, r = Check("noise is Gaussian", what="kurtosis / 3", look="noise"), n.record
    sums, squares, counts = r.by_tensor[3], r.by_tensor[4], r.by_tensor_n
    used = (counts > 64) & (sums > 0.0)
    total = float(counts[used].sum()) * n.fresh
    if total < 1000:
        return check.skip("fewer than 1000 numbers")
    kurtosis = float((squares[used] * counts[used] ** 2 / sums[used] ** 2).sum() / counts[used].sum())
    spread = math.sqrt(24.0 / total)
    z = (kurtosis - 3.0) / spread
    check.p = laws.two_sided(z)
    check.ratio, check.interval = kurtosis / 3.0, ((kurtosis - n.z * spread) / 3.0, (kurtosis + n.z * spread) / 3.0)
    check.words = f"the noise is not Gaussian: its kurtosis is {kurtosis:.2f}, not 3"
    check.would = f"a kurtosis {n.z_power * spread:.2f} away from 3 (Laplace has 6, uniform 1.8)"
    return check


def noise_steady(n: Numbers) -> Check:
    """Energy of single steps: does the scale change from step to step?"""
    check, r = Check("noise is steady", what="spread of the step's energy / expected", look="noise"), n.record
    if r.looks * n.fresh < 10:
        return check.skip("fewer than 10 steps")
    energies, dofs = np.array(r.energies), np.array(r.dofs)
    shape = noise_shape(n)
    kurtosis = 3.0 * shape.ratio if shape.ratio else 3.0
    z = (energies / max(n.noise**2, 1e-300) - dofs) / np.sqrt(dofs * max(kurtosis - 1.0, 0.1))
    value, mean = float(z @ z) * n.fresh, (r.looks - 1.0) * n.fresh
    variance = mean * (2.0 + 12.0 / float(dofs.mean()))
    check.p = laws.matched_gamma(value, mean, variance)[1]
    low, high = laws.ratio_interval(value, mean, variance, n.alpha)
    check.ratio, check.interval = math.sqrt(value / mean), (math.sqrt(low), math.sqrt(high))
    relative = math.sqrt(max(value / mean - 1.0, 0.0) * 2.0 / float(dofs.mean())) / 2.0
    sizes = np.array(r.look_sizes)
    linked = float(np.corrcoef(sizes, energies)[0, 1]) if sizes.std() > 0 and energies.std() > 0 else 0.0
    with_size = ", with the size of the batch" if abs(linked) > 0.5 else ""
    check.words = f"the noise changes from step to step by {100 * relative:.0f}%{with_size}"
    least = math.sqrt(n.z_power * math.sqrt(2.0 / max(mean, 1.0)) * 2.0 / float(dofs.mean())) / 2.0
    check.would = f"a noise scale that varies by {100 * least:.1f}% or more"
    return check


@dataclass
class Repeats:
    compared: int
    distinct: int
    pairs: int
    closest: float  # largest share of equal signs of a pair
    pair_p: float
    lag: float  # correlation of consecutive steps
    lag_interval: tuple[float, float]
    lag_p: float

    def found(self, alpha: float) -> bool:
        return self.pair_p <= alpha / 3.0 and self.distinct < self.compared


def find_repeats(r: Record, alpha: float) -> Repeats:
    bits = np.unpackbits(np.array(r.signs, dtype=np.uint8).reshape(len(r.signs), -1), axis=1)
    width = min(SKETCH, r.layout.probes)
    signs: Any = bits[:, :width].astype(np.float32) * 2.0 - 1.0
    damp = math.sqrt(max(r.dof / max(r.looks * r.layout.probes, 1), 0.25))  # the projection ties the signs a little
    lag_n = max(len(signs) - 1, 0) * width
    share = float((signs[1:] * signs[:-1]).sum()) / lag_n if lag_n else 0.0
    z = share * math.sqrt(lag_n) * damp if lag_n else 0.0
    error = laws.normal_quantile(alpha / 2.0) / math.sqrt(max(lag_n, 1)) / damp
    lags = tuple(math.sin(math.pi / 2.0 * min(max(share + side * error, -1.0), 1.0)) for side in (-1, 1))
    step = -(-len(signs) // _MOST_COMPARED)
    used = signs[::step]
    count, largest, family = len(used), 0.0, np.arange(len(used))
    threshold = 0.5 * width  # of the sum of products: 75% equal signs; two independent steps never reach it
    for at in range(0, count, 512):
        block = used[at : at + 512] @ used.T
        rows = np.arange(at, min(at + 512, count))
        block[np.tri(len(rows), count, at, dtype=bool)] = 0.0
        largest = max(largest, float(np.abs(block).max(initial=0.0)))
        for i, j in zip(*np.nonzero(block > threshold)):
            family[j] = min(family[j], family[rows[i]])
    pairs = count * (count - 1) // 2
    equal = 0.5 * (width + largest)
    one = 2.0 * laws.binomial_upper(math.floor(0.5 * width + 0.5 * largest * damp), width, 0.5)
    return Repeats(count, len(set(family.tolist())), pairs, equal / width, min(1.0, one * max(pairs, 1)),
                   math.sin(math.pi / 2.0 * share), (lags[0], lags[1]), laws.two_sided(z))


def noise_fresh(n: Numbers) -> Check:
    check, r, found = Check("noise is fresh", what="correlation of consecutive steps", look="noise"), n.record, n.repeats
    if found.compared < 2:
        return check.skip("one step only")
    between, pair = _between(r)
    check.p = min(1.0, 3.0 * min(found.pair_p, found.lag_p, between))
    check.ratio, check.interval = found.lag, found.lag_interval
    if found.found(n.alpha) and found.distinct == 1:
        check.words = "every step has the same noise"
    elif found.found(n.alpha):
        check.words = f"noise is repeated: {found.distinct} different in {found.compared} steps (drawn from a few seeds?)"
    elif found.lag_p <= between:
        check.words = f"noise of consecutive steps is correlated ({found.lag:.3f})"
    else:
        check.words = f"{r.layout.names[pair[0]]} and {r.layout.names[pair[1]]} have the same noise (one seed for every tensor?)"
    check.extra = {"distinct": found.distinct, "compared": found.compared, "between": between}
    check.would = f"any two of {found.compared} steps with the same noise; a correlation of consecutive steps of {_least_lag(n):.3f}"
    return check


def _least_lag(n: Numbers) -> float:
    count = max((n.repeats.compared - 1) * min(SKETCH, n.record.layout.probes), 1)
    return math.sin(math.pi / 2.0 * min(1.0, n.z_power / math.sqrt(count)))


def _between(r: Record) -> tuple[float, tuple[int, int]]:
    count, best, at = len(r.layout.sizes), 1.0, (0, 0)
    for k in range(count):
        for j in range(k + 1, count):
            trials = r.compared[k, j]
            if trials >= 32:
                p = laws.two_sided(r.agree[k, j] / math.sqrt(trials))
                if p < best:
                    best, at = p, (k, j)
    return min(1.0, best * max(count * (count - 1) // 2, 1)), at


def noise_bits(n: Numbers) -> Check:
    check, r = Check("low bits", what="values that end in 8 zero bits / expected", look="noise"), n.record
    if r.all_bits == 0:
        return check.skip("released in fewer than 32 bits: the format itself is a coarse grid, which an attacker sees")
    expected = 2.0**-LOW_BITS
    coarse = laws.binomial_upper(r.zero_bits, r.all_bits, _BITS_ALLOWED * expected)
    repeated = laws.gamma_tails(r.equal, _BITS_ALLOWED * r.equal_expected)[0] if r.equal > 0 else 1.0  # Pr[Poisson ≥ equal]
    check.p = min(1.0, 2.0 * min(coarse, repeated))
    low, high = laws.clopper_pearson(r.zero_bits, r.all_bits, n.alpha)
    check.ratio, check.interval = r.zero_bits / r.all_bits / expected, (low / expected, high / expected)
    check.words = f"released numbers lie on a coarse grid: {100 * r.zero_bits / r.all_bits:.1f}% end in {LOW_BITS} zero bits, 0.4% would by chance"
    if repeated < coarse:
        check.words = f"released numbers lie on a coarse grid: {r.equal:.0f} are equal to another of their step, at most {r.equal_expected:.0f} would by chance"
    least = _BITS_ALLOWED * expected + n.z_power * math.sqrt(_BITS_ALLOWED * expected / r.all_bits)
    check.would = f"{100 * least:.2f}% of the numbers on a grid 256 times coarser than the format's, or equal numbers {_BITS_ALLOWED:g} times as often; not the holes that any floating-point noise has"
    return check


# ── clipping and scale ────────────────────────────────────────────────────────────────────────────


@dataclass
class Fit:
    """Least squares of r on one direction."""

    slope: float
    error: float
    t: float
    p: float
    energy: float  # that it explains


def fits(n: Numbers) -> list[Fit]:
    r = n.record
    noise = max(n.noise * n.claim.sigma, 1e-12) * math.sqrt(1.0 + r.rounding / r.looks)  # of r, in units of C
    made = []
    for i in range(len(DIRECTIONS)):
        size = r.gram[i, i]
        if size <= 1e-6:
            made.append(Fit(0.0, math.inf, 0.0, 1.0, 0.0))
            continue
        t = r.along[i] / math.sqrt(size) / noise * math.sqrt(n.fresh)
        p = laws.student_two_sided(t, max(r.dof * n.fresh, 1.0))
        made.append(Fit(r.along[i] / size, noise / math.sqrt(size * n.fresh), t, p, r.along[i] ** 2 / size))
    return made


def _after(n: Numbers, i: int, winner: int) -> float:
    """The p-value of direction i once `winner` has been fitted."""
    r = n.record
    noise = max(n.noise * n.claim.sigma, 1e-12)
    left = r.gram[i, i] - r.gram[i, winner] ** 2 / r.gram[winner, winner]
    if left <= 1e-3 * r.gram[i, i]:
        return 1.0
    t = (r.along[i] - r.gram[i, winner] / r.gram[winner, winner] * r.along[winner]) / math.sqrt(left) / noise
    return laws.student_two_sided(t * math.sqrt(n.fresh), max(r.dof * n.fresh, 1.0))


def signal_winner(n: Numbers) -> int:
    """The direction that explains most. Those that say what happened come before a mere change of scale."""
    found = [fit.energy for fit in fits(n)]
    best = max(found)
    order = ("unclipped", "per-tensor", "batch-size", "scale", "clip-norm")
    near = [DIRECTIONS.index(name) for name in order if found[DIRECTIONS.index(name)] >= 0.98 * best]
    return near[0]


def clipping(n: Numbers) -> Check:
    check, r = Check("clipping", what="clip norm / promised", look="clip"), n.record
    found = fits(n)
    if r.long == 0:
        return check.skip(f"no example was longer than C (the longest: {r.largest:.2g} C): clipping was never needed")
    named = found[:3]
    check.p = min(1.0, 3.0 * min(fit.p for fit in named))
    norm = found[2]
    check.ratio, check.interval = 1.0 + norm.slope, (1.0 + norm.slope - n.z * norm.error, 1.0 + norm.slope + n.z * norm.error)
    best = signal_winner(n)
    if DIRECTIONS[best] == "unclipped" and found[best].slope > 0.3:
        how = "" if found[best].slope > 0.9 else f" ({100 * found[best].slope:.0f}% of the excess is released)"
        check.words = f"gradients are not clipped one by one{how}: long ones count {check.ratio:.2f} × promised"
    elif DIRECTIONS[best] == "per-tensor" and found[best].slope > 0.3:
        check.words = f"every tensor is clipped to C by itself: an example may count √{len(r.layout.sizes)} × promised"
    else:
        check.words = f"the clip norm is {check.ratio:.2f} × promised"
    check.would = f"a clip norm {n.z_power * norm.error:.3f} × C away from the promised ({r.long} of {r.examples} examples were clipped)"
    return check


def sum_scale(n: Numbers) -> Check:
    check, r = Check("scale", what="weight of an example / promised", look="clip"), n.record
    found = fits(n)
    whole, partial = found[3], found[4]
    if whole.error == math.inf:
        return check.skip("no example had a gradient")
    check.p = min(1.0, 2.0 * min(whole.p, partial.p))
    check.ratio, check.interval = 1.0 + whole.slope, (1.0 + whole.slope - n.z * whole.error, 1.0 + whole.slope + n.z * whole.error)
    if partial.p < whole.p and abs(partial.slope) > 0.3 or DIRECTIONS[signal_winner(n)] == "batch-size":
        check.words = (
            "batches are divided by their own size: in small (partial) batches an example counts "
            f"more than promised (by {partial.slope:.2f} of what its batch lacks)"
        )
    else:
        check.words = f"an example counts {check.ratio:.2f} × promised: is the sum divided by something else than promised?"
    odd = f", or partial batches scaled by {n.z_power * partial.error:.2f} of their size" if partial.error < 10 else ""
    check.would = f"examples weighted {n.z_power * whole.error:.3f} away from 1{odd}"
    return check


def canaries(n: Numbers) -> Check:
    check = Check("over-long canaries", what="what a canary of 10 C counts, in C", look="clip")
    if not n.asked:
        return check.skip("the mechanism could not be asked: watch() was not given a function or an optimizer")
    noise = 0.0 if all(a["exact"] for a in n.asked) else math.sqrt(2.0) * n.claim.sigma * max(n.noise, 1e-3)
    values: list[tuple[list[float], Any, dict[str, Any]]]
    values = [(a["across"], "all", a) for a in n.asked] + [(v, k, a) for a in n.asked for k, v in a["tensors"].items()]
    worst, tensor, asked = max(values, key=lambda item: max(abs(x - 1.0) for x in item[0]))
    off = max(abs(x - 1.0) for x in worst)
    effect = worst[0] if abs(worst[0] - 1.0) > 0.02 else worst[1]
    tests = 2 * len(values)
    check.p = (0.0 if off > 0.02 else 1.0) if noise == 0.0 else min(1.0, tests * laws.two_sided(max(off - 0.02, 0.0) / noise))
    half = 0.0 if noise == 0.0 else laws.normal_quantile(n.alpha / 2.0 / tests) * noise
    check.ratio, check.interval = effect, (effect - half, effect + half)
    check.words = _canary_words(n, worst, tensor, asked)
    tested = len({k for a in n.asked for k in a["tensors"]})
    check.would = f"a canary that counts {max(0.02, half + 0.84 * noise):.2g} C more or less than C ({tested} of {len(n.record.layout.sizes)} tensors, and all at once)"
    return check


def _canary_words(n: Numbers, worst: list[float], tensor: Any, asked: dict[str, Any]) -> str:
    first, second = worst
    across = [a["across"][0] for a in n.asked]
    spread = math.sqrt(asked["spread"])
    if first > 0.9 * asked["lengths"][0]:
        if second < 0.9 * asked["lengths"][1]:
            return f"the sum (or mean) is clipped, not every example: a canary of {asked['lengths'][1]:.0f} C counts {second:.1f} C"
        return f"gradients are not clipped: a canary of 10 C counts {first:.1f} C"
    if tensor == "all" and spread > 1.05 and abs(across[0] / spread - 1.0) < 0.1:
        return f"every tensor is clipped to C by itself: a canary across all counts {across[0]:.2f} C"
    if abs(first - second) > 0.1 * max(abs(first), abs(second)):
        return f"the sum (or mean) is clipped, not every example: canaries of 10 C and {asked['lengths'][1]:.0f} C count {first:.2f} C and {second:.2f} C"
    return f"the clip norm is {first:.2f} × promised"


# ── sampling and accounting ───────────────────────────────────────────────────────────────────────


def rate(n: Numbers) -> Check:
    check, r, claim = Check("inclusion rate", what="q / promised q", look="sample"), n.record, n.claim
    if claim.records is None:
        return check.skip("say records=, the size of the training set")
    trials, taken = float(claim.records) * r.steps, float(np.sum(r.sizes))
    check.p = laws.binomial_two_sided(taken, trials, claim.q) if taken <= trials else 0.0
    low, high = laws.clopper_pearson(min(taken, trials), trials, n.alpha)
    check.ratio, check.interval = taken / trials / claim.q, (low / claim.q, high / claim.q)
    check.words = f"an example is in a step {check.ratio:.2f} × as often as accounted: q is {taken / trials:.4g}, promised {claim.q:.4g}"
    least = n.z_power * math.sqrt((1.0 - claim.q) / claim.q / trials)
    check.would = f"a rate below {1 - least:.3f} or above {1 + least:.3f} × promised"
    return check


def _dispersion(values: Any, trials: float, q: float) -> tuple[float, float, float]:
    """Σ (x − trials·q)²/variance of binomial counts: its value, mean and variance."""
    spread = trials * q * (1.0 - q)
    excess = (1.0 - 6.0 * q * (1.0 - q)) / spread
    value = float((((values - trials * q) ** 2) / spread).sum())
    return value, float(len(values)), len(values) * (2.0 + excess)


def sampling(n: Numbers) -> Check:
    """Batch sizes are Binomial(records, q); how often a record was taken is Binomial(steps, q)."""
    check, r, claim = Check("sampling", what="spread of batch sizes / Poisson's", look="sample"), n.record, n.claim
    if claim.sampling != "poisson":
        return check.skip("sampling='unchecked' was asked for")
    if claim.records is None:
        return check.skip("say records=, the size of the training set")
    if claim.q >= 1.0:
        return check.skip("q = 1: every record is in every step")
    measured = min(max(float(np.mean(r.sizes)) / claim.records, 1e-12), 1.0 - 1e-12)  # its mean is for `rate` to judge
    size = _dispersion(np.array(r.sizes), claim.records, measured)
    tails = [min(1.0, 2.0 * min(laws.matched_gamma(*size)))] if r.steps >= 10 else [1.0]
    counts = None
    if r.has_indices and r.steps >= 2:
        counts = _dispersion(r.inclusions, r.steps, measured)
        tails.append(min(1.0, 2.0 * min(laws.matched_gamma(*counts))))
    check.p = 0.0 if r.repeated_in_batch else min(1.0, len(tails) * min(tails))
    low, high = laws.ratio_interval(size[0], size[1], size[2], n.alpha)
    check.ratio, check.interval = math.sqrt(size[0] / size[1]), (math.sqrt(low), math.sqrt(high))
    check.words = _sampling_words(r, size, counts)
    least = n.z_power * math.sqrt(size[2]) / size[1]
    seen = "sizes and indices" if counts else "sizes only: batch(indices) was not called"
    check.would = f"batch sizes that spread {least:.2f} more or less than Poisson's ({seen})"
    return check


def _sampling_words(r: Record, size: tuple[float, float, float], counts: Optional[tuple[float, float, float]]) -> str:
    if r.repeated_in_batch:
        return f"batches are drawn with replacement: {r.repeated_in_batch} times an example was twice in one batch"
    if counts is not None and counts[0] < 0.6 * counts[1]:
        return "batches are shuffled, not Poisson: every record is taken equally often"
    if size[0] < 0.7 * size[1]:
        return "batches have a fixed size, not Poisson's" if counts else "batches are shuffled or of fixed size, not Poisson: their size hardly varies"
    if counts is not None and counts[0] > 1.2 * counts[1]:
        return "some records are taken more often than others: batches are not Poisson"
    return "batch sizes do not vary as Poisson's"


def steps(n: Numbers) -> Check:
    check, r = Check("steps", what="steps / promised", look="claim"), n.record
    check.ratio = r.steps / n.claim.steps
    check.p = 0.0 if r.steps > n.claim.steps else 1.0
    check.words = f"{r.steps} steps were released, {n.claim.steps} were accounted"
    check.would = "one step more than promised"
    return check


def accountant(n: Numbers) -> Check:
    check, claim = Check("accountant", what="ε promised / ε of σ, q, steps", look="claim"), n.claim
    if not claim.stated:
        return check.skip("one of sigma and epsilon was said, not both")
    check.ratio = claim.epsilon / claim.accounted
    check.p = 0.0 if claim.accounted > claim.epsilon * (1.0 + 1e-3) + 1e-3 else 1.0
    check.words = f"σ = {claim.sigma:.4g}, q = {claim.q:.4g} and {claim.steps} steps give ε = {claim.accounted:.3f}, promised is {claim.epsilon:.3f}"
    check.would = "a promised ε below that of the promised σ, q and steps"
    return check


CHECKS: tuple[Callable[[Numbers], Check], ...] = (
    noise_fresh, noise_tensors, noise_scale, canaries, clipping, sum_scale, noise_steady, noise_shape, sampling, rate, noise_bits,
    steps, accountant,
)  # fmt: skip
_FACTS = 2  # the last ones are facts, not tests: they take no share of the error


def battery(claim: Promise, record: Record, asked: list[dict[str, Any]], error: float) -> list[Check]:
    """All checks at a joint error of `error`, defects named."""
    tests = len(CHECKS) - _FACTS
    n = Numbers(claim, record, asked, error / tests)
    made = [check(n) for check in CHECKS]
    adjusted = laws.holm([check.p if check.state != "not checked" else 1.0 for check in made[:tests]])
    for check, p in zip(made, [*adjusted, *(check.p for check in made[tests:])]):
        check.adjusted = p
        if check.state != "not checked" and p <= error:
            check.state = "defect"
    explain(n, {check.name: check for check in made})
    return made


def explain(n: Numbers, by_name: dict[str, Check]) -> None:
    """Marks the failed checks that follow from another defect."""

    def failed(name: str) -> bool:
        return by_name[name].state == "defect"

    def explained(name: str) -> None:
        if failed(name):
            by_name[name].state = "explained"

    r, fresh, tensors = n.record, by_name["noise is fresh"], by_name["noise per tensor"]
    winner = signal_winner(n)
    cut = failed("clipping") or failed("over-long canaries")
    if cut and winner in (0, 1, 2) and _after(n, 3, winner) > n.alpha:
        explained("scale")
    elif cut and failed("scale") and (winner in (0, 1, 2) or failed("over-long canaries")):
        explained("scale")
    elif failed("scale") and winner in (3, 4) and not failed("over-long canaries"):
        explained("clipping")
    if failed("over-long canaries"):
        explained("clipping")  # the same defect, seen on real gradients
    if (cut or failed("scale")) and failed("noise is fresh") and not n.repeats.found(n.alpha):
        explained("noise is fresh")  # what was not clipped is in r, and alike in all steps
    if n.noise < 0.02:
        explained("noise per tensor")  # there is none anywhere
    if failed("noise per tensor") and failed("noise"):
        good = [k for k in range(len(r.layout.sizes)) if k not in tensors.extra["bad"]]
        energy, mean, variance = (float(row[good].sum()) * n.fresh for row in r.by_tensor[:3])
        if not _off(energy, mean, variance, n.alpha):
            explained("noise")
    if failed("noise per tensor"):
        explained("noise is Gaussian")
        explained("noise is steady")
    if fresh.state == "defect" and n.repeats.found(n.alpha):
        for name in ("noise is steady", "noise is Gaussian", "low bits"):
            explained(name)
    if failed("noise is steady"):
        explained("noise is Gaussian")
        if "size of the batch" in by_name["noise is steady"].words and failed("scale"):
            explained("noise is steady")
            explained("noise")
    if n.noise < 0.02:
        for name in ("noise is steady", "noise is Gaussian", "noise is fresh", "clipping", "scale"):
            explained(name)
    if failed("noise") and by_name["low bits"].state == "defect" and n.noise < 0.02:
        explained("low bits")
