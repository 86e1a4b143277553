# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses of a fitted model on records: whatever library it came from."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

from ._arrays import numpy

Loss = Union[str, Callable[[Any, Any, Any], Any], None]
_KINDS = ("log-odds", "squared", "absolute", "ranking")


def _need_numpy() -> Any:
    np = numpy()
    if np is None:
        raise ImportError("numpy is needed for the losses of a model")
    return np


def _is_torch(model: Any) -> bool:
    return any(base.__module__.split(".")[0] == "torch" for base in type(model).__mro__) and callable(model)


def _torch_outputs(model: Any, x: Any) -> Any:
    """What the network says in evaluation mode; its mode is put back."""
    import torch

    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            given = x if isinstance(x, torch.Tensor) else torch.as_tensor(_need_numpy().asarray(x))
            first = next(model.parameters(), None)
            if first is not None:
                given = given.to(device=first.device, dtype=first.dtype if given.is_floating_point() else None)
            return model(given).detach().cpu().double().numpy()
    finally:
        model.train(was_training)


def _columns(y: Any, classes: int) -> Any:
    """Labels that number the columns themselves."""
    y = _need_numpy().asarray(y).reshape(-1).astype(int)
    if len(y) > 0 and not 0 <= y.min() <= y.max() < classes:
        raise ValueError(f"y: labels {y.min()} to {y.max()} for a model of {classes} classes, which are 0 to {classes - 1}")
    return y


def _class_numbers(model: Any, y: Any, classes: int) -> Any:
    """Labels as columns of the predictions: by `classes_` where the model has them."""
    np = _need_numpy()
    y = np.asarray(y).reshape(-1)
    known = getattr(model, "classes_", None)
    if known is None:
        return _columns(y, classes)
    known = np.asarray(known)
    at = np.searchsorted(known, y)
    if (at >= len(known)).any() or (known[np.minimum(at, len(known) - 1)] != y).any():
        raise ValueError("y: has a label that the model was not trained on")
    if len(known) != classes:
        raise ValueError(f"model: {classes} columns of probabilities for {len(known)} classes")
    return at


def _log_odds_of_logits(logits: Any, y: Any) -> Any:
    """−log(p/(1−p)) of the true class, without forming p: no loss is ever saturated."""
    np = _need_numpy()
    y = _columns(y, 2 if logits.ndim == 1 else max(2, logits.shape[1]))
    if logits.ndim == 1 or logits.shape[1] == 1:
        z = logits.reshape(-1)
        return np.where(y == 1, -z, z)
    own = np.take_along_axis(logits, y[:, None], axis=1)
    others = np.where(np.arange(logits.shape[1]) == y[:, None], -np.inf, logits)
    top = others.max(axis=1, keepdims=True)
    return (top + np.log(np.exp(others - top).sum(axis=1, keepdims=True)) - own).reshape(-1)


def _check_count(name: str, given: Any, records: int) -> None:
    if given is not None and len(given) != records:
        raise ValueError(f"{name}: {len(given)} of them for {records} records")


def _log_odds(model: Any, x: Any, y: Any) -> Any:
    np = _need_numpy()
    if _is_torch(model):
        logits = _torch_outputs(model, x)
        _check_count("y", y, len(logits))
        return _log_odds_of_logits(logits, y)
    p = np.asarray(model.predict_proba(x), dtype=float)
    if p.ndim == 1:
        p = np.stack([1 - p, p], axis=1)
    _check_count("y", y, len(p))
    if (p < 0).any() or (p > 1 + 1e-6).any() or (np.abs(p.sum(axis=1) - 1) > 1e-3).any():
        raise ValueError("model: predict_proba gives numbers that are no probabilities, 0 to 1 and 1 in all")
    own = np.take_along_axis(p, _class_numbers(model, y, p.shape[1])[:, None], axis=1).reshape(-1)
    rest = p.sum(axis=1) - own
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(rest, 0)) - np.log(own)


def _numbers_predicted(model: Any, x: Any) -> Any:
    np = _need_numpy()
    out = _torch_outputs(model, x) if _is_torch(model) else model.predict(x)
    return np.asarray(out, dtype=float).reshape(-1)


def _ranking(scores: Any, relevance: Any, query: Any) -> Any:
    """Of each record, the mean of log(1 + e^−(s_i − s_j)·sign) over the records j of its query with another relevance."""
    np = _need_numpy()
    relevance = np.asarray(relevance, dtype=float).reshape(-1)
    groups = np.zeros(len(scores), dtype=int) if query is None else np.unique(np.asarray(query), return_inverse=True)[1]
    out = np.zeros(len(scores))
    for group in range(groups.max() + 1 if len(groups) else 0):
        rows = np.flatnonzero(groups == group)
        order = np.sign(relevance[rows][:, None] - relevance[rows][None, :])
        pairs = np.logaddexp(0, -(scores[rows][:, None] - scores[rows][None, :]) * order) * (order != 0)
        out[rows] = pairs.sum(axis=1) / np.maximum((order != 0).sum(axis=1), 1)
    return out


def model_losses(model: Any, x: Any, y: Any, loss: Loss = None, query: Optional[Any] = None) -> Any:
    """The loss of a fitted model on every record, as an array.

    `model` has `predict_proba` (scikit-learn, XGBoost, LightGBM and their like), or `predict` (a regression), or is a
    torch module that gives logits, one column a class. `loss` is "log-odds" (the default of a classifier: the paper's),
    "squared" (of a regression), "absolute", "ranking" (scores within each `query` against the relevance y), or a function
    of (model, x, y). Log-odds of a torch module come from its logits and are never saturated.

    >>> class Mean:
    ...     def predict(self, x):
    ...         return [2.0 for _ in x]
    >>> [float(v) for v in model_losses(Mean(), [[0], [0]], [1.0, 5.0])]
    [1.0, 9.0]
    """
    if callable(loss):
        return loss(model, x, y)
    kind = loss or ("log-odds" if hasattr(model, "predict_proba") or _is_torch(model) else "squared")
    if kind not in _KINDS:
        raise ValueError(f"loss: one of {', '.join(_KINDS)} or a function, not '{kind}'")
    if not (_is_torch(model) or hasattr(model, "predict_proba") or hasattr(model, "predict")):
        raise ValueError("model: has neither predict_proba nor predict; give loss=, a function of (model, x, y)")
    if kind == "log-odds":
        if not (_is_torch(model) or hasattr(model, "predict_proba")):
            raise ValueError("model: has no predict_proba; loss='squared' is for regressions")
        return _log_odds(model, x, y)
    np = _need_numpy()
    predicted = _numbers_predicted(model, x)
    _check_count("y", y, len(predicted))
    _check_count("query", query, len(predicted))
    if kind == "ranking":
        return _ranking(predicted, y, query)
    off = predicted - np.asarray(y, dtype=float).reshape(-1)
    return off * off if kind == "squared" else np.abs(off)
