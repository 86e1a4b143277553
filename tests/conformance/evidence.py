# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence files as games write them (an .npz with an entry dpaudit.json), from mechanisms whose epsilon is known.

The scores are quantiles of their law, not draws from it: a mechanism without luck, so that "just below" and "just above" a
claim come out the same on every machine. Needs nothing but Python's own library: the tests run under sanitizers too.
"""
import array
import json
import math
import random
import statistics
import struct
import zipfile

NORMAL = statistics.NormalDist()


def npy(values):
    head = repr({"descr": "<f8", "fortran_order": False, "shape": (len(values),)}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + array.array("d", values).tobytes()


def write(path, arrays, **meta):
    with zipfile.ZipFile(path, "w") as out:
        for name, values in arrays.items():
            out.writestr(f"{name}.npy", npy(values))
        out.writestr("dpaudit.json", json.dumps(meta))


NOTHING = 1e-3  # a mean that nobody sees; with 0 both classes were one list


def spread(count):
    return [(i + 0.5) / count for i in range(count)]


def shuffled(values):
    random.Random(18).shuffle(values)
    return values


def normal(mu, count):
    """N(mu,1) against N(0,1)."""
    nil = [NORMAL.inv_cdf(u) for u in spread(count)]
    return {"members": shuffled([x + mu for x in nil]), "nonmembers": shuffled(nil)}


def sampled(mu, q, count):
    """One step with Poisson sampling: the canary is in with probability q."""
    nil = [NORMAL.inv_cdf(u) for u in spread(count)]
    inside = round(q * count)
    members = [NORMAL.inv_cdf(u) + mu for u in spread(inside)] + [NORMAL.inv_cdf(u) for u in spread(count - inside)]
    return {"members": shuffled(members), "nonmembers": shuffled(nil)}


def laplace(epsilon, count):
    draw = lambda u: math.log(2 * u) if u < 0.5 else -math.log(2 - 2 * u)
    nil = [draw(u) for u in spread(count)]
    return {"members": shuffled([x + epsilon for x in nil]), "nonmembers": shuffled(nil)}


def response(epsilon, count):
    """Randomized response: the most visible mechanism of its epsilon."""
    right = round(count / (1 + math.exp(-epsilon)))
    told = [1.0] * right + [0.0] * (count - right)
    return {"members": shuffled(told), "nonmembers": shuffled([1 - x for x in told])}


def guesses(right, count):
    """One run: so many guesses of `count` are right, whatever their confidence."""
    kept = round(right * count)
    correct = [1.0 if (i + 1) * kept // count > i * kept // count else 0.0 for i in range(count)]
    return {"score": [1 - i / count for i in range(count)], "correct": correct}
