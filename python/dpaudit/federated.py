# SPDX-License-Identifier: GPL-3.0-or-later
"""Auditing your own federated server: canary clients with rounds that the auditor knows, in the one run that ships.

`FederatedAudit` is what a plain server needs: three calls a round. `AuditedStrategy` has the shape of a Flower strategy,
`AuditedProcess` that of TFF's aggregation process; neither framework is imported. docs/federated.md walks through them.
"""

from __future__ import annotations

import io
import json
import os
from typing import Any, Callable, Iterable, Optional, Union

from ._arrays import numpy
from ._canaries import CanarySet
from ._judge import Claim, judge
from ._report import Report

__all__ = ["AuditedProcess", "AuditedStrategy", "FederatedAudit"]


def _numpy() -> Any:
    np = numpy()
    if np is None:
        raise ImportError("dpaudit.federated needs numpy")
    return np


def flatten(parameters: Any) -> Any:
    """One vector of a model: an array, a list or dictionary of arrays, Flower's `Parameters`, or anything with
    `.numpy()`, in the order given."""
    np = _numpy()
    if hasattr(parameters, "tensors"):  # of Flower: arrays as the bytes of .npy files
        parameters = [np.load(io.BytesIO(t), allow_pickle=False) for t in parameters.tensors]
    if hasattr(parameters, "numpy"):
        parameters = parameters.numpy()
    if isinstance(parameters, dict):
        parameters = list(parameters.values())
    if isinstance(parameters, (list, tuple)):
        return np.concatenate([flatten(p) for p in parameters])
    return np.asarray(parameters, dtype=np.float64).reshape(-1)


def shaped(vector: Any, like: Any) -> Any:
    """The reverse of `flatten`: `vector` in arrays of the shapes of `like` (an array, or lists and dictionaries of
    them)."""
    np = _numpy()
    size = sum(int(np.prod(np.shape(leaf))) for leaf in _leaves(like))
    if size != len(vector):
        raise ValueError(f"like: {size} parameters, but the canaries have {len(vector)}")
    at = 0

    def take(part: Any) -> Any:
        nonlocal at
        if isinstance(part, dict):
            return type(part)((key, take(value)) for key, value in part.items())
        if isinstance(part, (list, tuple)):
            return [take(value) for value in part]
        first, at = at, at + int(np.prod(np.shape(part)))
        return np.asarray(vector[first:at]).reshape(np.shape(part))

    return take(like)


def _leaves(parameters: Any) -> list[Any]:
    if isinstance(parameters, dict):
        parameters = list(parameters.values())
    if isinstance(parameters, (list, tuple)):
        return [leaf for part in parameters for leaf in _leaves(part)]
    return [parameters]


class FederatedAudit:
    """Canary clients for a server of `dim` parameters that trains for `rounds` rounds.

    The canaries are orthogonal; as many as take part stay at home.

    Arguments:
        dim: parameters of the model.
        rounds: of the training.
        clip: the norm S to which clients' updates are clipped (change `audit.clip` where it adapts).
        sigma: the noise multiplier that is claimed.
        divisor: what the server divides the sum by (1: it releases the sum).
        canaries: how many take part.
        times: rounds of each canary.
        seed: nobody but the auditor may know it before the training is over.
        threads: how many; 0: one per core.

    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> audit = FederatedAudit(dim=4096, rounds=4, clip=1.0, sigma=1.0, canaries=100)
    >>> for t in range(4):
    ...     total = rng.normal(0, 1.0, 4096)  # clients' sum and noise
    ...     audit.insert(t, total)
    ...     audit.released(t, total)
    >>> audit.report(delta=1e-3).verdict.state
    'not-refuted'
    """

    def __init__(
        self,
        dim: int,
        rounds: int,
        *,
        clip: float,
        sigma: float,
        divisor: float = 1.0,
        canaries: int = 1000,
        times: int = 1,
        seed: int = 1,
        threads: int = 0,
    ) -> None:
        self.clip, self.sigma, self.divisor = float(clip), float(sigma), float(divisor)
        for name in ("clip", "sigma", "divisor"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}: {getattr(self, name)}: expected a finite number above 0")
        self.rounds, self.times = int(rounds), int(times)
        self.canaries = CanarySet(dim, canaries, seed, unobserved=canaries, threads=threads, direction="hadamard")
        self.done = 0
        self._plan()

    def _plan(self) -> None:
        self._candidates: list[list[int]] = [[] for _ in range(self.rounds)]
        for canary, mine in enumerate(self.canaries.schedule(self.rounds, self.times)):
            for t in mine:
                self._candidates[t].append(canary)

    def candidates(self, round: int) -> list[int]:
        """Canaries whose round this is, from 0; those that stay at home too."""
        if not 0 <= round < self.rounds:
            raise ValueError(f"round: {round} is not one of 0 to {self.rounds - 1}")
        return self._candidates[round]

    def senders(self, round: int) -> list[int]:
        """Canaries that send their update in this round."""
        return [i for i in self.candidates(round) if i < self.canaries.count]

    def update(self, canary: int, like: Any = None) -> Any:
        """What this canary client sends as its update: for secure aggregation, where the server sees sums only.

        Arguments:
            canary: one of `senders`.
            like: a model; its shapes are the update's (without: one vector).
        """
        sent = self.canaries.vector(canary, self.clip)
        return sent if like is None else shaped(sent, like)

    def insert(self, round: int, total: Any) -> None:
        """Add this round's canaries to the sum of the clipped updates, in place: for a server that sees updates.

        Arguments:
            round: from 0.
            total: the sum of the clipped updates, an array (or a list or dictionary of arrays) that is changed.
        """
        if not isinstance(total, (list, tuple, dict)):
            self.canaries.add_to(total, self.senders(round), self.clip)
            return
        sent = _numpy().zeros(self.canaries.dim)
        self.canaries.add_to(sent, self.senders(round), self.clip)
        for part, more in zip(_leaves(total), _leaves(shaped(sent, total))):
            part += more

    def released(self, round: int, value: Any) -> None:
        """The round released `value`: the noisy sum over `divisor`, before momentum or another optimiser. In order.

        Arguments:
            round: from 0.
            value: an array, or what `flatten` takes; None if the round released nothing, because it failed.
        """
        if round != self.done:
            raise ValueError(f"round: {round} was released, but the next one is {self.done}: each once, in order")
        if value is not None:
            self.canaries.own(flatten(value), self.candidates(round), self.clip / self.divisor)
        self.done += 1

    def report(self, claim: Union[Claim, float, None] = None, delta: float = 1e-5, **options: Any) -> Report:
        """Judge the rounds so far. Without `claim`: the promise of `sigma` for a client in `times` known rounds.

        Arguments:
            claim: what was promised, where it is not `sigma`.
            delta: δ of the statement.
            options: how to judge, as for `judge`.
        """
        made = Claim(sigma=self.sigma, steps=self.times, delta=delta) if claim is None else claim
        return judge(self.canaries.known(self.sigma), made, delta=delta, **options)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """The whole state, to go on after a restart: `path` and, beside it, `path`.json."""
        self.canaries.save(path)
        words = {k: getattr(self, k) for k in ("clip", "sigma", "divisor", "rounds", "times", "done")}
        with open(f"{os.fspath(path)}.json", "w", encoding="utf-8") as file:
            json.dump(words, file)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"], *, threads: int = 0) -> "FederatedAudit":
        """Go on from a file that `save` wrote.

        Arguments:
            path: the file.
            threads: how many; 0: one per core.
        """
        made = cls.__new__(cls)
        made.canaries = CanarySet.load(path, threads=threads)
        with open(f"{os.fspath(path)}.json", encoding="utf-8") as file:
            for name, value in json.load(file).items():
                setattr(made, name, value)
        made._plan()
        return made


class AuditedStrategy:
    """A Flower-like strategy with an audit: everything but `aggregate_fit` is the wrapped strategy's.

    The canaries' updates come from clients of their own (`audit.update`), or `audit.insert` in the strategy's
    aggregation. After each round the change of the global model, less `momentum` times the change before, is what was
    released, times `1/rate`. `vector` turns the strategy's parameters into one vector.

    Arguments:
        strategy: the one that does the work.
        audit: the canaries.
        initial: the global model before the first round.
        vector: makes one vector of parameters.
        rate: of the server's optimiser.
        momentum: of the server's optimiser.
        previous: after a restart with momentum: the change of the model in the last round before it.
    """

    def __init__(
        self,
        strategy: Any,
        audit: FederatedAudit,
        initial: Any,
        *,
        vector: Callable[[Any], Any] = flatten,
        rate: float = 1.0,
        momentum: float = 0.0,
        previous: Any = None,
    ) -> None:
        self._strategy, self.audit, self._vector = strategy, audit, vector
        self._rate, self._momentum = rate, momentum
        self._model: Any = vector(initial)
        self._change: Any = None if previous is None else vector(previous)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
        """Rounds of Flower begin with 1.

        Arguments:
            server_round: from 1.
            results: of the clients, as Flower gives them.
            failures: the same.
        """
        out = self._strategy.aggregate_fit(server_round, results, failures)
        found = out[0] if isinstance(out, tuple) else out
        if found is None:  # the round failed, and the model stays
            self.audit.released(server_round - 1, None)
            return out
        model = self._vector(found)
        change = model - self._model
        alone = change if self._change is None else change - self._momentum * self._change
        self.audit.released(server_round - 1, alone / self._rate)
        self._model, self._change = model, change
        return out


class AuditedProcess:
    """A TFF-like aggregation process, `next(state, updates)`, that gets the canaries' updates beside the clients'.

    `result` takes the aggregate out of what `next` gives (its `.result`, else the last of a pair).

    Arguments:
        process: the one that does the work.
        audit: the canaries.
        result: takes the aggregate out of what `next` gives.
    """

    def __init__(self, process: Any, audit: FederatedAudit, *, result: Optional[Callable[[Any], Any]] = None) -> None:
        self._process, self.audit = process, audit
        self._result = result or (lambda out: out.result if hasattr(out, "result") else out[-1])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)

    def next(self, state: Any, updates: Iterable[Any]) -> Any:
        """One round with this round's canaries in it.

        Arguments:
            state: the process's state.
            updates: of the clients; the canaries' are added, in the shape of the first of them.
        """
        t, sent = self.audit.done, list(updates)
        mine = [self.audit.update(i, sent[0] if sent else None) for i in self.audit.senders(t)]
        out = self._process.next(state, [*sent, *mine])
        self.audit.released(t, self._result(out))
        return out
