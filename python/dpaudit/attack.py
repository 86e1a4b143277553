# SPDX-License-Identifier: GPL-3.0-or-later
"""From what shadow models say about points to membership scores of a target model.

`signals` is a matrix [models × points] of logit-scaled confidences (kind="logit") or losses (kind="loss") of the true
labels, or [models × points × augmentations] where each model was asked about several views of a point; `members`
[models × points] says who was trained on what. Every attack gives one score per point of the model
in row `target`: higher means more likely a member. They are input for `one_run` when membership was drawn by coin.
"""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, Optional

from ._arrays import Numbers, empty, flags, numbers, writable
from ._library import Stop, call_interruptibly, choose, declare, lib, mirror, real, whole

__all__ = ["calibrated", "lira", "loss", "rmia"]

_ATTACKS = {"loss": 0, "calibrated": 1, "lira": 2, "rmia": 3}
_SIGNAL_KINDS = {"logit": 0, "loss": 1}
_VARIANCES = {"auto": 0, "point": 1, "pooled": 2}


@mirror("dpa_signals")
class _Signals(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int),
        ("models", ctypes.c_size_t),
        ("points", ctypes.c_size_t),
        ("signal", ctypes.c_void_p),
        ("member", ctypes.c_void_p),
        ("augmentations", ctypes.c_size_t),
    ]


@mirror("dpa_attack_opts")
class _Opts(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_size_t),
        ("exclude", ctypes.POINTER(ctypes.c_size_t)),
        ("exclude_count", ctypes.c_size_t),
        ("offline", ctypes.c_int),
        ("variance", ctypes.c_int),
        ("a", ctypes.c_double),
        ("gamma", ctypes.c_double),
        ("population", ctypes.POINTER(_Signals)),
        ("threads", ctypes.c_uint),
    ]


lib.dpa_attack_opts_init.argtypes = [ctypes.POINTER(_Opts)]
lib.dpa_attack_opts_init.restype = None
declare("dpa_attack_run", ctypes.c_int, ctypes.POINTER(_Signals), ctypes.POINTER(_Opts), ctypes.c_void_p)


def _matrix(name: str, values: Any, kind: str) -> tuple[_Signals, Numbers]:
    given = numbers(name, values, flat=True)
    shape = given.view.shape or ()
    if len(shape) not in (2, 3) or 0 in shape:
        raise ValueError(f"{name}: needs a matrix of models by points (by augmentations), has the shape {tuple(shape)}")
    models, points, *views = shape
    return _Signals(choose("kind", kind, _SIGNAL_KINDS), models, points, given.address, None, *views), given


def _run(
    attack: str,
    signals: Any,
    members: Any,
    target: int,
    kind: str,
    exclude: Iterable[int],
    population: Any = None,
    **options: Any,
) -> Any:
    matrix, given = _matrix("signals", signals, kind)
    belongs = flags("members", members, flat=True)
    if (belongs.view.shape or ()) != (given.view.shape or ())[:2]:
        raise ValueError(f"members: has the shape {belongs.view.shape}, the signals {given.view.shape}")
    matrix.member = belongs.address
    opts, others = _Opts(), None
    lib.dpa_attack_opts_init(ctypes.byref(opts))
    opts.target = whole("target", target)
    rows = [whole("exclude", row) for row in exclude]
    opts.exclude, opts.exclude_count = (ctypes.c_size_t * max(1, len(rows)))(*rows), len(rows)
    for name, value in options.items():
        setattr(opts, name, value)
    if population is not None:
        others = _matrix("population", population, kind)
        opts.population = ctypes.pointer(others[0])
    made = empty(matrix.points)
    out = writable("scores", made)
    keep = (matrix, given, belongs, opts, others, made)
    arguments = (_ATTACKS[attack], ctypes.byref(matrix), ctypes.byref(opts), out.address)
    call_interruptibly(Stop(), keep, "dpa_attack_run", *arguments)
    return made


def loss(signals: Any, members: Any, *, target: int = 0, kind: str = "logit", exclude: Iterable[int] = ()) -> Any:
    """The target's own signal (Yeom et al. 2018).

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
    """The target's signal minus its mean over models without the point (Watson et al. 2022)."""
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
    """Likelihood ratio of two normals fitted to the shadow models' signals (Carlini et al. 2022)."""
    how = choose("variance", variance, _VARIANCES)
    return _run("lira", signals, members, target, kind, exclude, offline=bool(offline), variance=how)


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
    """Robust pairwise ratios against a population that no model was trained on (Zarifzadeh et al. 2024)."""
    given = {name: real(name, value) for name, value in (("a", a), ("gamma", gamma)) if value is not None}
    return _run("rmia", signals, members, target, kind, exclude, population, offline=bool(offline), **given)
