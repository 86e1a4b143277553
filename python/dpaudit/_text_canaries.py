# SPDX-License-Identifier: GPL-3.0-or-later
"""Canaries for language models: sentences with a random suffix, their loss and the exposure of their suffix."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence, Union

from ._library import whole

_LONGEST = 1000

def _draws(name: str, possible: int) -> Iterator[int]:
    """Numbers below `possible`, uniform but for 2⁻¹²⁸, the same on every machine and in every version of Python."""
    size = (possible.bit_length() + 7) // 8 + 16
    for k in range(1 << 62):
        yield int.from_bytes(hashlib.shake_256(f"{name} {k}".encode()).digest(size), "big") % possible


def _exposure(own: float, others: Sequence[float]) -> float:
    """Bits: log2((n + 1)/rank), where rank is 1 + how many of the n others have a loss that is no higher."""
    return math.log2(len(others) + 1) - math.log2(1 + sum(other <= own for other in others))


class TextCanaries:
    """`count` sentences with a random suffix each ("my code is 48291"), to put among the texts of a (fine-)tuning.

    Canary i is template i modulo their number, with its suffix in the place of "{}". Suffixes are uniform, no two canaries
    have the same, and the first ones do not depend on `count`. They are functions of the seed: training and audit make
    the same ones, and nobody else should know it until the training is over.

    With each canary in by a fair coin (`kind: membership` with `access: black-box`), the model is asked about every canary,
    and one training is audited. What it says may be the plain loss of `canaries[i]`, or `exposure`, which takes out how
    easy a template or a suffix of that form is anyway.

    Arguments:
        count: how many canaries.
        templates: a sentence or several, each with one "{}".
        alphabet: the characters of suffixes, all different.
        length: characters in a suffix; there are len(alphabet)**length suffixes.
        seed: names the suffixes, and those that `exposure` compares them with.

    >>> canaries = TextCanaries(3, templates=["my code is {}", "locker {} is mine"], length=5, seed=7)
    >>> len(canaries), canaries.possible, [len(text) for text in canaries]
    (3, 100000, [16, 20, 16])
    >>> canaries[0] == "my code is " + canaries.suffixes[0]
    True
    >>> known = {canaries[0]}                           # a model that knows the first by heart, and of the rest nothing
    >>> def loss(texts):
    ...     return [0.0 if text in known else 1.0 + hash(text) % 1009 for text in texts]
    >>> round(canaries.exposure(loss, [0])[0], 2)       # log2(100): the first of 100
    6.64
    """

    def __init__(
        self,
        count: int,
        *,
        templates: Union[str, Sequence[str]] = "my code is {}",
        alphabet: str = "0123456789",
        length: int = 5,
        seed: int = 1,
    ) -> None:
        self.templates = [templates] if isinstance(templates, str) else list(templates)
        for template in self.templates:
            if template.count("{}") != 1:
                raise ValueError(f'templates: {template!r} does not have one "{{}}" for its suffix')
        if not self.templates:
            raise ValueError("templates: needed, at least one")
        if len(alphabet) < 2 or len(set(alphabet)) != len(alphabet):
            raise ValueError(f"alphabet: {alphabet!r} is not two or more different characters")
        self.alphabet, self.length, self.seed = alphabet, whole("length", length), whole("seed", seed)
        if not 1 <= self.length <= _LONGEST:
            raise ValueError(f"length: {length} is not between 1 and {_LONGEST}")
        self.possible: int = len(alphabet) ** self.length
        self._taken: set[int] = set()
        drawn = self._fresh(f"dpaudit text canary {self.seed}", whole("count", count), self._taken)
        self.suffixes: list[str] = [self._suffix(number) for number in drawn]

    def __len__(self) -> int:
        return len(self.suffixes)

    def __getitem__(self, i: int) -> str:
        """The whole sentence of canary i."""
        number = range(len(self))[i]  # −1 is the last one
        return self._sentence(number, self.suffixes[number])

    def __repr__(self) -> str:
        return f"<dpaudit.TextCanaries count={len(self)} length={self.length} possible={self.possible}>"

    def others(self, i: int, count: int) -> list[str]:
        """The sentence of canary `i` with `count` other suffixes, different and uniform among those that no canary has.

        Arguments:
            i: the canary's number, from 0.
            count: how many.
        """
        number = whole("i", i)
        if number >= len(self):
            raise ValueError(f"i: {number} is not one of {len(self)} canaries")
        drawn = self._fresh(f"dpaudit text others {self.seed} {number}", whole("count", count), set(self._taken))
        return [self._sentence(number, self._suffix(suffix)) for suffix in drawn]

    def exposure(
        self, loss: Callable[[list[str]], Any], ids: Optional[Iterable[int]] = None, others: int = 99
    ) -> list[float]:
        """How exposed the suffixes are, in bits: high for those that the model has learnt.

        Exposure is log2(possible suffixes) − log2(rank of the true one), ranked by loss from the lowest. The rank among all
        is not counted but estimated from a sample: with n = `others` drawn by `others()`, and k of them with a loss
        no higher than the true one's (ties count against it), it is possible·(k + 1)/(n + 1). What remains is
        log2((n + 1)/(k + 1)): from 0 to log2(n + 1), however large the alphabet is. A suffix that was not in the training
        is like the others, so its rank among the n + 1 is uniform: exposure reaches b bits with probability at most 2^−b.

        Arguments:
            loss: gives the model's losses of a list of sentences. It is called once a canary, with its n + 1 sentences.
            ids: the numbers of the canaries to ask about, from 0; None: all.
            others: n, the suffixes that each is compared with.
        """
        count = whole("others", others)
        if count == 0:
            raise ValueError("others: at least 1 is needed to compare with")
        made = []
        for i in range(len(self)) if ids is None else ids:
            compared = self.others(i, count)
            sentences = [self[i], *compared]
            losses = [float(value) for value in loss(sentences)]
            if len(losses) != len(sentences):
                raise ValueError(f"loss: gave {len(losses)} numbers for {len(sentences)} sentences")
            if any(math.isnan(value) for value in losses):
                raise ValueError(f"loss: gave nan for a sentence of canary {i}")
            made.append(_exposure(losses[0], losses[1:]))
        return made

    def _fresh(self, name: str, count: int, taken: set[int]) -> list[int]:
        """`count` suffixes, by number, that are not taken yet; then they are."""
        needed = len(taken) + count
        if 2 * needed > self.possible:  # then draws would mostly hit what is taken
            raise ValueError(f"length: {self.possible} suffixes are too few for {needed} different ones, take it longer")
        drawn: list[int] = []
        draws = _draws(name, self.possible)
        while len(drawn) < count:
            number = next(draws)
            if number not in taken:
                taken.add(number)
                drawn.append(number)
        return drawn

    def _suffix(self, number: int) -> str:
        letters = []
        for _ in range(self.length):
            number, digit = divmod(number, len(self.alphabet))
            letters.append(self.alphabet[digit])
        return "".join(letters)

    def _sentence(self, i: int, suffix: str) -> str:
        return self.templates[i % len(self.templates)].replace("{}", suffix)
