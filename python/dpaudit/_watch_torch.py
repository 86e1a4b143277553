# SPDX-License-Identifier: GPL-3.0-or-later
"""Attaching to an optimizer in the manner of Opacus: per-example gradients in `p.grad_sample`, the release in `p.grad`.

`clip_and_accumulate` is called for every (sub-)batch, `pre_step` ends a step unless that step is skipped for gradient
accumulation. Both are wrapped on the instance, not on the class; `detach` takes the wrappers off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._watch_core import Watch

_NEEDED = ("clip_and_accumulate", "add_noise", "pre_step")


def _parameters(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]


def _samples(parameter: Any) -> Any:
    """grad_sample as one tensor: Opacus keeps a list when several backward passes came before a step."""
    import torch

    given = getattr(parameter, "grad_sample", None)
    if given is None:
        raise ValueError("optimizer: a parameter has no grad_sample; is the model wrapped to have per-example gradients?")
    return torch.cat(list(given), dim=0) if isinstance(given, (list, tuple)) else given


def _normalizer(optimizer: Any) -> float:
    """What the optimizer says it divides the noisy sum by."""
    if getattr(optimizer, "loss_reduction", "sum") != "mean":
        return 1.0
    return float(optimizer.expected_batch_size) * float(getattr(optimizer, "accumulated_iterations", 1))


def _all_reduce() -> Any:
    """A function that sums a small vector over all ranks; None when there is one rank."""
    import torch

    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return None
    if torch.distributed.get_world_size() == 1:
        return None

    def together(values: Any) -> Any:
        device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
        tensor = torch.as_tensor(np.asarray(values, dtype=np.float64), device=device)
        add_up: Any = torch.distributed.all_reduce
        add_up(tensor)
        return tensor.cpu().numpy()

    return together


def attach(watch: "Watch", optimizer: Any) -> None:
    missing = [name for name in _NEEDED if not callable(getattr(optimizer, name, None))]
    if missing:
        raise ValueError(f"optimizer: has no {', '.join(missing)}; give watch() a function, or use observe()")
    from ._watch_core import place_of

    parameters = _parameters(optimizer)
    clip, add_noise, pre_step = (getattr(optimizer, name) for name in _NEEDED)
    watch.places = {"clip": place_of(type(optimizer).clip_and_accumulate), "noise": place_of(type(optimizer).add_noise)}
    watch._gather = _all_reduce()
    named = getattr(optimizer, "generator", None)
    if named is not None and hasattr(named, "get_state"):
        watch._generators._named.append(named)
    if watch._names is None:
        watch._names = [str(getattr(p, "name", "") or f"parameter {i} {tuple(p.shape)}") for i, p in enumerate(parameters)]

    def release(batch: list[Any]) -> list[Any]:
        """The mechanism on other gradients: what it keeps in the parameters is put back."""
        kept = [(p.grad_sample, getattr(p, "summed_grad", None), p.grad) for p in parameters]
        try:
            for p, part in zip(parameters, batch):
                p.grad_sample, p.summed_grad = part, None
            clip()
            add_noise()
            return [p.grad.detach() / watch.normalizer for p in parameters]  # a sum: not scaled yet
        finally:
            for p, (samples, summed, grad) in zip(parameters, kept):
                p.grad_sample, p.summed_grad, p.grad = samples, summed, grad

    def clip_and_accumulate(*arguments: Any, **named: Any) -> Any:
        given = [_samples(p).detach() for p in parameters]
        if watch._canaries and watch._gather is None and watch._sums is None and watch._asks_now(given):
            watch._release = release
            watch._ask(given)
        watch._accumulate(given, given)
        return clip(*arguments, **named)

    def wrapped_pre_step(*arguments: Any, **named: Any) -> Any:
        done = pre_step(*arguments, **named)
        if done is not False:
            watch.normalizer = _normalizer(optimizer)
            watch._finish([p.grad.detach() for p in parameters])
        return done

    optimizer.clip_and_accumulate, optimizer.pre_step = clip_and_accumulate, wrapped_pre_step

    def detach() -> None:
        for name in ("clip_and_accumulate", "pre_step"):
            optimizer.__dict__.pop(name, None)

    watch._detach = detach
