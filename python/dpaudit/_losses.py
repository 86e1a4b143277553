# SPDX-License-Identifier: GPL-3.0-or-later
"""Epsilon*: how much one released model gives away, from its losses."""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, Optional, Tuple, Union

from ._arrays import Numbers, empty, numbers, writable
from ._audit import Values
from ._judge import Path, is_path, path_text
from ._library import Query, call, declare, request, whole
from ._model_losses import Loss, model_losses
from ._report import Report, run_long


_TEXT = ctypes.c_char_p
declare("dpa__losses_query_files", ctypes.c_void_p, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT)
declare(
    "dpa__losses_query_add", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t
)
declare(
    "dpa__losses_from_predictions",
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
declare(
    "dpa__losses_from_regression",
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_void_p,
)
declare(
    "dpa__audit_losses", ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
)

declare("dpa__audit_landscape", ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))

Pair = Tuple[Union[Values, Path], Union[Values, Path, None]]


def _from_predictions(name: str, predictions: Values, labels: Values, loss: str) -> Numbers:
    """Losses of predicted probabilities (footnote 1 of the paper: [points], or [points × classes]) or numbers."""
    probability, label = numbers(name, predictions, flat=True), numbers(f"{name}_labels", labels)
    classes, rest = divmod(probability.count, label.count) if label.count else (0, 1)
    shape = getattr(predictions, "shape", (probability.count,))
    if rest or not classes or shape[0] != label.count:
        raise ValueError(f"{name}: predictions of the shape {tuple(shape)}, but {label.count} labels")
    made = writable(name, empty(label.count))
    if loss != "log-odds":
        if classes != 1:
            raise ValueError(f"{name}: a regression predicts one number a record, not {classes}")
        squared = loss == "squared"
        call("dpa__losses_from_regression", probability.address, label.address, label.count, squared, made.address)
        return made
    call("dpa__losses_from_predictions", probability.address, label.count, classes, label.address, made.address)
    return made


def _chosen(name: str, word: str, words: Tuple[str, ...]) -> str:
    if word not in words:
        raise ValueError(f"{name}: {' or '.join(words)}, not '{word}'")
    return word


def _fill(query: Query, pairs: list[Pair], labels: Optional[Pair], loss: str) -> Any:
    """Give the query its models; returns what must live as long."""
    if all(is_path(train) for train, _ in pairs):
        names = [[*pair, *(labels or (None, None))] for pair in pairs]
        rows = [[None if name is None else path_text("train", name) for name in row] for row in names]
        for row in rows:
            row.append(loss.encode())
            call("dpa__losses_query_files", query.pointer, *row)
        return rows
    for train, heldout in pairs:
        if heldout is None:
            raise ValueError("heldout: needed, unless train is a file that has both")
        if labels is not None:
            sides = (("train", train, labels[0]), ("heldout", heldout, labels[1]))
            given = tuple(_from_predictions(*side, loss) for side in sides)
        else:
            given = (numbers("train", train), numbers("heldout", heldout))
        sizes = [size for side in given for size in (side.address, side.count)]
        call("dpa__losses_query_add", query.pointer, *sizes)
    return None


def _of_model(name: str, model: Any, data: Any, loss: Loss) -> Any:
    """Losses of a fitted model on (x, y) or (x, y, query)."""
    if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
        raise ValueError(f"{name}: with model it is a data set, (x, y), or (x, y, query) of a ranking")
    return model_losses(model, data[0], data[1], loss=loss, query=data[2] if len(data) == 3 else None)


def losses(
    train: Any = None,
    heldout: Any = None,
    delta: float = 1e-5,
    *,
    model: Any = None,
    loss: Loss = None,
    train_labels: Union[Values, Path, None] = None,
    heldout_labels: Union[Values, Path, None] = None,
    models: Optional[Iterable[Pair]] = None,
    method: Optional[str] = None,
    confidence: float = 0.95,
    bootstrap: int = 200,
    components: int = 0,
    whole_training_set: bool = False,
    transform: str = "paper",
    goodness: Union[int, str] = 0,
    claim_epsilon: Optional[float] = None,
    claim_delta: Optional[float] = None,
    resampled: bool = False,
    neighbours: str = "add-remove",
    group: Optional[str] = None,
    records: int = 0,
    seed: int = 1,
    threads: Optional[int] = None,
) -> Report:
    """Epsilon* of a released model: losses on points that it was trained on, and on others like them.

    With labels the arrays are predictions: the probability of label 1, or one column per class; with `loss` "squared" or
    "absolute" the numbers of a regression. With a fitted `model`, train and heldout are the data sets themselves, (x, y)
    each ((x, y, query) of a ranking), and `loss` as in `model_losses`. `models` is a list of
    (train, heldout) for several models of the same training, instead of one. The number is about these models; it does
    not bound the training mechanism, unless `resampled`: each of the models was trained on its own random draw of the
    data. `group` slices a table by a column, `records` lists that many training records that stand out.

    Arguments:
        train: losses of training points: numbers, or the path of a file that may have both.
        heldout: losses of points like them that were not trained on.
        delta: δ of ε.
        model: a fitted model: then train and heldout are data.
        loss: of a model's predictions, as in `model_losses`.
        train_labels: labels: train holds predicted probabilities.
        heldout_labels: labels of the held-out points.
        models: several models, as (train, heldout) each.
        method: "binormal", "empirical", "normal", "tail", "mixture" or "simultaneous"; None: all.
        confidence: of intervals.
        bootstrap: replicates for the intervals; 0: none.
        components: of the mixtures; 0: chosen by BIC, to 20.
        whole_training_set: the training losses are those of all training points: their rates are exact.
        transform: scale of the normal and mixture fits: "paper", from the extreme losses, or "quantile", from the
            quantiles at 0.001 and 0.999.
        goodness: "paper": judge fits by the paper's Kolmogorov-Smirnov procedure; a number: also its p-values for
            up to so many components.
        claim_epsilon: the promised ε.
        claim_delta: its δ, when it is not delta.
        resampled: every model was trained on its own random draw of the data.
        neighbours: of the claim: "add-remove" or "replace-one".
        group: a column of the table: each of its values by itself, too.
        records: so many training records that stand out.
        seed: of everything random.
        threads: how many; None: one per core.

    >>> train = [0.1, 0.2, 0.15, 0.3, 0.12, 0.22, 0.18, 0.25] * 20
    >>> heldout = [0.1, 0.9, 0.3, 1.2, 0.25, 0.7, 0.5, 0.2] * 20
    >>> report = losses(train, heldout, method="empirical", bootstrap=0)
    >>> report.results[0].guarantee, report.results[0].assumptions[0]
    ('estimate', 'one-model-instance')
    """
    if (train_labels is None) != (heldout_labels is None):
        raise ValueError("train_labels, heldout_labels: both or none")
    if model is not None:
        if models is not None or train_labels is not None or train is None or heldout is None:
            raise ValueError("model: needs train=(x, y) and heldout=(x, y), and nothing else")
        train, heldout = (_of_model(name, model, data, loss) for name, data in (("train", train), ("heldout", heldout)))
        loss = None
    elif loss is not None and train_labels is None:
        raise ValueError("loss: is of predictions; give model, or train_labels and heldout_labels")
    of_predictions = "log-odds" if loss is None else loss
    if not isinstance(of_predictions, str) or of_predictions not in ("log-odds", "squared", "absolute"):
        raise ValueError("loss: log-odds, squared or absolute where predictions are given; others need model")
    pairs = [(train, heldout)] if models is None else list(models)
    if (models is None) == (train is None) or not pairs:
        raise ValueError("needs train and heldout, or models as a list of them")
    labels = None if train_labels is None else (train_labels, heldout_labels)
    if labels is not None and models is not None:
        raise ValueError("train_labels: are for one model; give the losses of several")
    query = Query(
        "losses",
        bootstrap=whole("bootstrap", bootstrap),
        paper_goodness=goodness == "paper",
        goodness=0 if goodness == "paper" else whole("goodness", goodness),
        transform=_chosen("transform", transform, ("paper", "quantile")),
        neighbours=_chosen("neighbours", neighbours, ("add-remove", "replace-one")),
        resampled=bool(resampled),
        group=group,
        records=whole("records", records),
        components=whole("components", components),
        whole_training_set=bool(whole_training_set),
    )
    keep = _fill(query, pairs, labels, of_predictions)
    asked = request(
        1,
        delta=delta,
        method=method,
        confidence=confidence,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        seed=seed,
        threads=threads,
    )
    return run_long("dpa__audit_losses", query.pointer, request=asked, keep=(query, keep))


def landscape(path: Path) -> Report:
    """Privacy against utility: a CSV with the columns strategy, utility, epsilon and perhaps group, and its frontier.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "runs.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("strategy,utility,epsilon\\nplain,0.9,8\\nnoisy,0.8,1\\nworse,0.7,4\\n")
    ...     report = landscape(path)
    >>> report.command
    'landscape'
    """
    return run_long("dpa__audit_landscape", path_text("path", path))
