# SPDX-License-Identifier: GPL-3.0-or-later
"""Canaries for language models: their suffixes are the seed's, and exposure is the rank that it says it is."""

import hashlib
import math

import pytest

import dpaudit


def noise(texts):
    """Losses that know nothing of any canary, the same everywhere."""
    return [int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") for text in texts]


def test_suffixes_are_the_seeds():
    first = hashlib.shake_256(b"dpaudit text canary 7 0").digest(3 + 16)
    number = int.from_bytes(first, "big") % 10**5
    canaries = dpaudit.TextCanaries(50, templates=["a {} b", "{}", "its braces {x} {}"], seed=7)
    assert canaries.suffixes[0] == f"{number:05}"[::-1] and canaries[0] == f"a {canaries.suffixes[0]} b"
    assert canaries[1] == canaries.suffixes[1] and canaries[-1] == canaries[49] == canaries.suffixes[49]
    assert canaries[2] == "its braces {x} " + canaries.suffixes[2]
    assert len(list(canaries)) == len(canaries) == 50 and len(set(canaries.suffixes)) == 50
    assert dpaudit.TextCanaries(80, seed=7).suffixes[:50] == canaries.suffixes
    assert not set(dpaudit.TextCanaries(50, seed=8).suffixes) & set(canaries.suffixes[:1])


def test_no_two_are_alike_where_suffixes_are_few():
    canaries = dpaudit.TextCanaries(32, alphabet="äb", length=6, seed=3)
    assert len(set(canaries)) == 32 and set("".join(canaries.suffixes)) == {"ä", "b"}
    others = dpaudit.TextCanaries(10, alphabet="ab", length=6, seed=3).others(4, 22)
    assert len(set(others)) == 22
    assert not set(others) & {f"my code is {suffix}" for suffix in dpaudit.TextCanaries(10, alphabet="ab", length=6, seed=3).suffixes}


def test_all_characters_are_as_likely():
    text = "".join(dpaudit.TextCanaries(2000, alphabet="abc", length=10, seed=1).suffixes)
    deviation = math.sqrt(len(text) * 2 / 9)
    assert all(abs(text.count(letter) - len(text) / 3) < 5 * deviation for letter in "abc")


def test_exposure_is_the_rank():
    canaries = dpaudit.TextCanaries(30, seed=2)
    exposures = canaries.exposure(noise, others=15)
    for i, exposure in enumerate(exposures):
        own = noise([canaries[i]])[0]
        rank = 1 + sorted(noise([canaries[i], *canaries.others(i, 15)])).index(own)
        assert exposure == pytest.approx(math.log2(canaries.possible) - math.log2(canaries.possible * rank / 16), abs=1e-12)
    assert canaries.exposure(noise, [4, 29], others=15) == [exposures[4], exposures[29]]
    known = set(canaries)
    assert canaries.exposure(lambda texts: [text not in known for text in texts], [0], others=63) == [6.0]
    assert canaries.exposure(lambda texts: [0.0] * len(texts), [0]) == [0.0], "ties count against it"
    assert canaries.exposure(lambda texts: [math.inf] + [1.0] * (len(texts) - 1), [0]) == [0.0]


def test_exposure_of_what_was_never_in_is_chance():
    """b bits have probability 2^−b: of 2000 canaries, within five deviations, and no deviation is needed above 5 bits."""
    exposures = dpaudit.TextCanaries(2000, length=8, seed=4).exposure(noise, others=31)
    for bits in (1, 2, 3, 4, 5):
        share = 2.0**-bits
        reached = sum(exposure >= bits - 1e-9 for exposure in exposures)
        assert abs(reached - 2000 * share) < 5 * math.sqrt(2000 * share * (1 - share))
    assert max(exposures) == 5.0


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({"templates": "no place"}, "templates"),
        ({"templates": ["{} {}"]}, "templates"),
        ({"templates": []}, "templates"),
        ({"alphabet": "a"}, "alphabet"),
        ({"alphabet": "aba"}, "alphabet"),
        ({"length": 0}, "length: 0"),
        ({"length": 10**9}, "length: 10"),
        ({"length": 2, "count": 51}, "length: 100 suffixes"),
        ({"count": -1}, "count"),
        ({"seed": 0.5}, "seed"),
    ],
)
def test_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        dpaudit.TextCanaries(**{"count": 10, **arguments})


def test_refused_losses():
    canaries = dpaudit.TextCanaries(2)
    with pytest.raises(ValueError, match="loss: gave 1 numbers for 100"):
        canaries.exposure(lambda texts: [1.0])
    with pytest.raises(ValueError, match="loss: gave nan for a sentence of canary 1"):
        canaries.exposure(lambda texts: [math.nan] * len(texts), [1])
    with pytest.raises(ValueError, match="others"):
        canaries.exposure(noise, others=0)
    with pytest.raises(ValueError, match="i: 2 is not one of 2"):
        canaries.exposure(noise, [2])
    with pytest.raises(ValueError, match="length: 100000 suffixes are too few"):
        canaries.exposure(noise, others=60000)
