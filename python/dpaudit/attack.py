# SPDX-License-Identifier: GPL-3.0-or-later
"""From what shadow models say about points to membership scores of a target model.

`signals` is a matrix [models × points] of logit-scaled confidences (kind="logit") or losses (kind="loss") of the true
labels, or [models × points × augmentations] where each model was asked about several views of a point; `members`
[models × points] says who was trained on what. Every attack gives one score per point of the model
in row `target`: higher means more likely a member. They are input for `one_run` when membership was drawn by coin.

`points` ranks the points by how well an attack tells the models that have them from those that do not; `select` takes
the challenge points for an audit of models that it did not look at. `half` and `leave_one_out` say who is in a model.
"""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, NamedTuple, Optional

from ._arrays import empty, flags, numbers, writable
from ._library import Handle, Query, Stop, call, call_interruptibly, choose, declare, free, lib, real, whole

__all__ = ["Leak", "Selection", "calibrated", "half", "leave_one_out", "lira", "loss", "points", "quantile", "rmia", "select"]

_ATTACKS = {"loss": 0, "calibrated": 1, "lira": 2, "rmia": 3, "quantile": 4}
_SIGNAL_KINDS = {"logit": 0, "loss": 1}
_VARIANCES = {"auto": 0, "point": 1, "pooled": 2}
_FORMS = {"normal": 0, "pinball": 1}
_WEIGHTS = {"accuracy": 0, "epsilon": 1}
_CHALLENGES = {"worst": 0, "random": 1, "average": 2}
_FIT, _TEST, _KEPT = range(3)
_SHORT = 1 << 22  # signals that an attack goes through in some milliseconds


_OUT = ctypes.POINTER(ctypes.c_void_p)
_MATRIX = (ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
declare("dpa__signals_view", *_MATRIX, ctypes.c_void_p, ctypes.c_void_p, _OUT)
declare("dpa__features_view", ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, _OUT)
lib.dpa__attack_data.argtypes = [*[ctypes.c_void_p] * 5, ctypes.c_size_t]
lib.dpa__attack_data.restype = None
declare("dpa__attack_score", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
declare("dpa__leaks_new", ctypes.c_size_t, _OUT)
lib.dpa__leak_row.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
lib.dpa__leak_row.restype = None
lib.dpa__leaks_sort.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
lib.dpa__leaks_sort.restype = None
lib.dpa__membership_half.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]
lib.dpa__membership_half.restype = None
lib.dpa__membership_leave_one_out.argtypes = [
    ctypes.c_uint64,
    ctypes.c_uint64,
    ctypes.c_size_t,
    ctypes.c_size_t,
    ctypes.c_void_p,
]
lib.dpa__membership_leave_one_out.restype = ctypes.c_int
declare("dpa__leaks_measure", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
declare(
    "dpa__challenges_select",
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_size_t,
)


class _Signals(Handle):
    """A matrix as the library sees it, and the memory that it is in."""

    __slots__ = ("shape", "count", "_memory")

    def __init__(self, name: str, values: Any, kind: str, members: Any = None) -> None:
        super().__init__(free)
        given = numbers(name, values, flat=True)
        shape = given.view.shape or ()
        if len(shape) not in (2, 3) or 0 in shape:
            raise ValueError(
                f"{name}: needs a matrix of models by points (by augmentations), has the shape {tuple(shape)}"
            )
        number = choose("kind", kind, _SIGNAL_KINDS)
        belongs = None if members is None else flags("members", members, flat=True)
        if belongs is not None and (belongs.view.shape or ()) != shape[:2]:
            raise ValueError(f"members: has the shape {belongs.view.shape}, the signals {given.view.shape}")
        self.shape, self.count, self._memory = (*shape, 0)[:3], given.count, (given, belongs)
        where = (given.address, None if belongs is None else belongs.address)
        call("dpa__signals_view", number, *self.shape, *where, ctypes.byref(self.pointer))


class _Given:
    """What an attack is given: the signals and its options, with all that they point to."""

    def __init__(
        self, signals: Any, members: Any, kind: str, exclude: Iterable[int], population: Any, options: dict[str, Any],
        features: Iterable[Handle] = (),
    ) -> None:  # fmt: skip
        self.signals = _Signals("signals", signals, kind, members)
        rows = [whole("exclude", row) for row in exclude]
        excluded = (ctypes.c_size_t * max(1, len(rows)))(*rows)
        self.opts = Query("attack", **options)
        others = None if population is None else _Signals("population", population, kind)
        tables = [None if table is None else table.pointer for table in (others, *(tuple(features) or (None, None)))]
        lib.dpa__attack_data(self.opts.pointer, *tables, excluded, len(rows))
        self.count = self.signals.count + (0 if others is None else others.count)  # all that is read
        self._keep = (excluded, others, features)


def _run(
    attack: str,
    signals: Any,
    members: Any,
    target: int,
    kind: str,
    exclude: Iterable[int],
    population: Any = None,
    features: Iterable[Handle] = (),
    **options: Any,
) -> Any:
    options.update(by=attack, target=whole("target", target))
    given = _Given(signals, members, kind, exclude, population, options, features)
    made = empty(given.signals.shape[1])
    out = writable("scores", made)
    arguments = ("dpa__attack_score", given.opts.pointer, given.signals.pointer, out.address)
    if given.count <= _SHORT and not features:
        call(*arguments)  # over before anyone reaches for Ctrl-C: a thread would cost a fifth of it
    else:
        call_interruptibly(Stop(), (given, made), *arguments)
    return made


def loss(signals: Any, members: Any, *, target: int = 0, kind: str = "logit", exclude: Iterable[int] = ()) -> Any:
    """The target's own signal (Yeom et al. 2018).

    Arguments:
        signals: what each model says about each point: a matrix of models by points, or models by points by
            augmentations.
        members: 0 or 1 of the same models by points: was the model trained on the point?
        target: the row of the model under attack.
        kind: what a signal is: "logit", log(p/(1−p)) of the true label, or "loss".
        exclude: rows of models that serve as no shadow: kept for the audit, say.

    >>> list(loss([[3.0, 1.0], [0.5, 0.2]], [[1, 0], [0, 1]]))
    [3.0, 1.0]
    """
    return _run("loss", signals, members, target, kind, exclude)


def calibrated(
    signals: Any,
    members: Any,
    *,
    target: int = 0,
    kind: str = "logit",
    exclude: Iterable[int] = (),
    offline: bool = False,
) -> Any:
    """The target's signal minus its mean over models without the point (Watson et al. 2022).

    Arguments:
        signals: what each model says about each point: a matrix of models by points, or models by points by
            augmentations.
        members: 0 or 1 of the same models by points: was the model trained on the point?
        target: the row of the model under attack.
        kind: what a signal is: "logit", log(p/(1−p)) of the true label, or "loss".
        exclude: rows of models that serve as no shadow: kept for the audit, say.
        offline: use only models that were not trained on the point.
    """
    return _run("calibrated", signals, members, target, kind, exclude, offline=bool(offline))


def lira(
    signals: Any,
    members: Any,
    *,
    target: int = 0,
    kind: str = "logit",
    exclude: Iterable[int] = (),
    offline: bool = False,
    variance: str = "auto",
) -> Any:
    """Likelihood ratio of two normals fitted to the shadow models' signals (Carlini et al. 2022).

    Arguments:
        signals: what each model says about each point: a matrix of models by points, or models by points by
            augmentations.
        members: 0 or 1 of the same models by points: was the model trained on the point?
        target: the row of the model under attack.
        kind: what a signal is: "logit", log(p/(1−p)) of the true label, or "loss".
        exclude: rows of models that serve as no shadow: kept for the audit, say.
        offline: use only models that were not trained on the point.
        variance: of lira: "point", each point's own, "pooled", one for all, or "auto": own from 64 models on.
    """
    _ = choose("variance", variance, _VARIANCES)
    return _run("lira", signals, members, target, kind, exclude, offline=bool(offline), variance=variance)


def rmia(
    signals: Any,
    members: Any,
    population: Any,
    *,
    target: int = 0,
    kind: str = "logit",
    exclude: Iterable[int] = (),
    offline: bool = False,
    a: Optional[float] = None,
    gamma: Optional[float] = None,
) -> Any:
    """Robust pairwise ratios against a population that no model was trained on (Zarifzadeh et al. 2024).

    Arguments:
        signals: what each model says about each point: a matrix of models by points, or models by points by
            augmentations.
        members: 0 or 1 of the same models by points: was the model trained on the point?
        population: signals of points that no model was trained on, models by population; what rmia and quantile
            need.
        target: the row of the model under attack.
        kind: what a signal is: "logit", log(p/(1−p)) of the true label, or "loss".
        exclude: rows of models that serve as no shadow: kept for the audit, say.
        offline: use only models that were not trained on the point.
        a: offline: the weight of the models without the point (0.3).
        gamma: how much larger a ratio must be to count (1).
    """
    given: dict[str, Any] = {name: real(name, value) for name, value in (("a", a), ("gamma", gamma)) if value is not None}
    return _run("rmia", signals, members, target, kind, exclude, population, offline=bool(offline), **given)


class _Features(Handle):
    """A table as the library sees it, and the memory that it is in."""

    __slots__ = ("_memory",)

    def __init__(self, name: str, values: Any) -> None:
        super().__init__(free)
        self._memory = given = numbers(name, values, flat=True)
        shape = given.view.shape or ()
        if len(shape) not in (1, 2) or 0 in shape:
            raise ValueError(f"{name}: needs a matrix of points by features, has the shape {tuple(shape)}")
        call("dpa__features_view", *(*shape, 1)[:2], given.address, ctypes.byref(self.pointer))


def quantile(
    signals: Any,
    members: Any,
    population: Any,
    features: Any,
    population_features: Any,
    *,
    target: int = 0,
    kind: str = "logit",
    form: str = "normal",
    level: Optional[float] = None,
    ridge: Optional[float] = None,
    squares: bool = False,
) -> Any:
    """How far a point stands above what a non-member with its features would (Bertran et al. 2023).

    Needs no model but the target: `population` has the target's signals of points that nobody was trained on, and both
    tables of features one row per point. `ridge` None: in proportion to the features per population point.

    Arguments:
        signals: the target's signals of the points: one row will do.
        members: 0 or 1 of the same models by points: was the model trained on the point?
        population: the target's signals of points that no model was trained on.
        features: what is known of the points: one row each.
        population_features: the same of the population.
        target: the row of the model under attack.
        kind: what a signal is: "logit", log(p/(1−p)) of the true label, or "loss".
        form: "normal": mean and scale given the features; "pinball": one quantile.
        level: of pinball: which quantile (0.9).
        ridge: penalty on standardised weights; None: 8 times the features per population point (pinball: once).
        squares: squares of the features are features, too.

    >>> twice = [[2.0 * i + (0.5 if i % 2 else -0.5) for i in range(40)]]
    >>> scores = quantile([[21.0, 20.0]], [[1, 0]], twice, [[5.0], [10.0]], [[i] for i in range(40)], ridge=0.0)
    >>> bool(scores[0] > 4 > 1 > abs(scores[1]))
    True
    """
    given: dict[str, Any] = {name: real(name, value) for name, value in (("level", level), ("ridge", ridge)) if value is not None}
    _ = choose("form", form, _FORMS)
    tables = (_Features("features", features), _Features("population_features", population_features))
    given.update(form=form, squares=bool(squares))
    return _run("quantile", signals, members, target, kind, (), population, tables, **given)


class Leak(NamedTuple):
    """What one point risks: numbers of test models at the threshold that is best for it. They rank, they bound nothing.

    Arguments:
        point: its number.
        members: test models that were trained on it.
        nonmembers: test models that were not.
        accuracy: (TPR + TNR)/2 at the point's best threshold; NaN when one side has no test model.
        epsilon: the point's ε at that threshold, from observed rates.
        gap: mean score with the point minus mean score without.
    """

    point: int
    members: int  #: test models that were trained on the point
    nonmembers: int
    accuracy: float  #: (TPR + TNR)/2; NaN when one of the sides has no test model
    epsilon: float
    gap: float  #: mean score with the point minus mean score without


class Selection(NamedTuple):
    """Challenge points, and what each model was used for: audit models that are in neither `fit` nor `test`.

    Arguments:
        challenge: how they were chosen: worst, random or average.
        points: what each chosen point risks, as `Leak`.
        fit: models that the attack was fitted to.
        test: models that it was judged on.
        kept: models that were excluded: for the audit.
    """

    challenge: str
    points: list[Leak]
    fit: list[int]
    test: list[int]
    kept: list[int]


def _measure(
    signals: Any,
    members: Any,
    by: str,
    kind: str,
    exclude: Iterable[int],
    population: Any,
    how: dict[str, Any],
    split: dict[str, Any],
) -> tuple[Handle, int, list[int]]:
    """The leaks of the points in the library, how many there are, and the roles of the models."""
    _ = choose("by", by, _ATTACKS), choose("variance", how["variance"], _VARIANCES)
    given = _Given(signals, members, kind, exclude, population, dict(how, by=by, **split))
    models, points, _ = given.signals.shape
    leaks, roles = Handle(free), (ctypes.c_int * models)()
    call("dpa__leaks_new", points, ctypes.byref(leaks.pointer))
    arguments = (given.signals.pointer, given.opts.pointer, leaks.pointer, roles)
    call_interruptibly(Stop(), (given, leaks, roles), "dpa__leaks_measure", *arguments)
    return leaks, points, list(roles)


def _leak(leaks: Handle, index: int) -> Leak:
    row = (ctypes.c_double * len(Leak._fields))()
    lib.dpa__leak_row(leaks.pointer, index, row)
    return Leak(*map(int, row[:3]), *row[3:])


def points(
    signals: Any,
    members: Any,
    *,
    by: str = "lira",
    weight: str = "accuracy",
    every_model: bool = True,
    test_share: float = 0.2,
    delta: float = 1e-5,
    seed: int = 1,
    kind: str = "logit",
    exclude: Iterable[int] = (),
    offline: bool = False,
    variance: str = "auto",
    population: Any = None,
) -> list[Leak]:
    """All points, those that leak most first, judged on models that the attack was not fitted to.

    Arguments:
        signals: what each model says about each point: a matrix of models by points, or models by points by
            augmentations.
        members: 0 or 1 of the same models by points: was the model trained on the point?
        by: the attack that finds out: "loss", "calibrated", "lira", "rmia" or "quantile".
        weight: what ranks the points: "accuracy" or "epsilon".
        every_model: as many splits as it takes to test each model once; False: one split.
        test_share: share of the models that test the attack; the others fit it.
        delta: δ of the points' ε.
        seed: of splits and of random challenges.
        kind: what a signal is: "logit", log(p/(1−p)) of the true label, or "loss".
        exclude: rows of models that serve as no shadow: kept for the audit, say.
        offline: use only models that were not trained on the point.
        variance: of lira: "point", each point's own, "pooled", one for all, or "auto": own from 64 models on.
        population: signals of points that no model was trained on, models by population; what rmia and quantile
            need.

    >>> signals = [[5.0 * (i % 2) + 0.1 * i, 0.1 * (i * 7 % 5)] for i in range(20)]
    >>> members = [[i % 2, i // 2 % 2] for i in range(20)]
    >>> [leak.point for leak in points(signals, members)]
    [0, 1]
    """
    order = choose("weight", weight, _WEIGHTS)
    how = {"offline": bool(offline), "variance": variance}
    split = {
        "every_model": bool(every_model),
        "test_share": real("test_share", test_share),
        "delta": real("delta", delta),
        "seed": whole("seed", seed),
    }
    leaks, total, _ = _measure(signals, members, by, kind, exclude, population, how, split)
    lib.dpa__leaks_sort(leaks.pointer, total, order)
    return [_leak(leaks, i) for i in range(total)]


def select(
    signals: Any,
    members: Any,
    count: int = 1,
    *,
    challenge: str = "worst",
    by: str = "lira",
    weight: str = "accuracy",
    test_share: float = 0.2,
    delta: float = 1e-5,
    seed: int = 1,
    kind: str = "logit",
    exclude: Iterable[int] = (),
    offline: bool = False,
    variance: str = "auto",
    population: Any = None,
) -> Selection:
    """SelectWorst (Zanella-Béguelin et al. 2023, Algorithm 3), or random or average challenge points.

    Arguments:
        signals: what each model says about each point: a matrix of models by points, or models by points by
            augmentations.
        members: 0 or 1 of the same models by points: was the model trained on the point?
        count: how many points.
        challenge: "worst": the most exposed, "random": any, "average": typical ones.
        by: the attack that finds out: "loss", "calibrated", "lira", "rmia" or "quantile".
        weight: what ranks the points: "accuracy" or "epsilon".
        test_share: share of the models that test the attack; the others fit it.
        delta: δ of the points' ε.
        seed: of splits and of random challenges.
        kind: what a signal is: "logit", log(p/(1−p)) of the true label, or "loss".
        exclude: rows of models that serve as no shadow: kept for the audit, say.
        offline: use only models that were not trained on the point.
        variance: of lira: "point", each point's own, "pooled", one for all, or "auto": own from 64 models on.
        population: signals of points that no model was trained on, models by population; what rmia and quantile
            need.
    """
    which, order = choose("challenge", challenge, _CHALLENGES), choose("weight", weight, _WEIGHTS)
    how = {"offline": bool(offline), "variance": variance}
    split = {
        "test_share": real("test_share", test_share),
        "delta": real("delta", delta),
        "seed": whole("seed", seed),
    }
    leaks, total, roles = _measure(signals, members, by, kind, exclude, population, how, split)
    wanted = whole("count", count)
    chosen = (ctypes.c_size_t * max(1, min(wanted, total)))()
    call("dpa__challenges_select", leaks.pointer, total, which, order, split["seed"], chosen, wanted)
    models = [[m for m, role in enumerate(roles) if role == kind_of] for kind_of in (_FIT, _TEST, _KEPT)]
    return Selection(challenge, [_leak(leaks, point) for point in chosen], *models)


def half(seed: int, model: int, count: int) -> list[int]:
    """0 or 1 for each of `count` points: exactly half of them (rounded down) are in, drawn for each model by itself.

    Arguments:
        seed: of the whole design.
        model: the model's number.
        count: how many points there are.

    >>> sum(half(1, 0, 10))
    5
    """
    member = (ctypes.c_uint8 * whole("count", count))()
    lib.dpa__membership_half(whole("seed", seed), whole("model", model), len(member), ctypes.byref(member))
    return list(member)


def leave_one_out(seed: int, model: int, count: int, challenge: int) -> list[int]:
    """0 or 1 for each of `count` points: all are in but the challenge, whom a coin decides.

    Arguments:
        seed: of the whole design.
        model: the model's number, which tosses its own coin.
        count: how many points there are.
        challenge: the point that the coin is about.
    """
    member = (ctypes.c_uint8 * whole("count", count))()
    if whole("challenge", challenge) >= len(member):
        raise ValueError(f"challenge: there is no point {challenge}")
    lib.dpa__membership_leave_one_out(
        whole("seed", seed), whole("model", model), len(member), challenge, ctypes.byref(member)
    )
    return list(member)
