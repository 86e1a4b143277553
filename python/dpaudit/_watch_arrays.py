# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients of any framework as rows: tensors of torch stay where they are, everything else is looked at through numpy.

Only small results leave the framework: norms, the probed columns, products with one vector. Nothing here draws from a
random stream or keeps a graph alive.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

_CHUNK = 1 << 16


def is_torch(x: Any) -> bool:
    return type(x).__module__.split(".")[0] == "torch" or hasattr(x, "grad_fn")


def parts(name: str, given: Any) -> list[Any]:
    """One array, a list of arrays, or a (nested) dictionary of them, as a flat list in a fixed order."""
    if isinstance(given, dict):
        return [part for key in sorted(given) for part in parts(f"{name}.{key}", given[key])]
    if isinstance(given, (list, tuple)) and not all(np.isscalar(x) for x in given):
        return [part for i, x in enumerate(given) for part in parts(f"{name}[{i}]", x)]
    if is_torch(given):
        return [given.detach()]
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        given = np.from_dlpack(given)
    array = np.asarray(given)
    if array.dtype.kind not in "f":
        try:
            array = array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name}: needs real numbers, has {array.dtype}") from None
    return [array]


def part_names(given: Any, prefix: str = "") -> list[str]:
    """Names in the order of `parts`: keys of dictionaries, places in lists."""
    if isinstance(given, dict):
        return [name for key in sorted(given) for name in part_names(given[key], f"{prefix}{key}.")]
    if isinstance(given, (list, tuple)) and not all(np.isscalar(x) for x in given):
        return [name for i, x in enumerate(given) for name in part_names(x, f"{prefix}{i}.")]
    return [prefix.rstrip(".") or "0"]


def rows(part: Any) -> Any:
    """[batch, …] → [batch, weights], without a copy where the framework allows it."""
    count = int(part.shape[0])
    return part.reshape(count, int(np.prod(part.shape[1:])) if part.ndim > 1 else 1)


def flat(part: Any) -> Any:
    return part.reshape(-1)


def square_norms(matrix: Any) -> Any:
    """‖row‖² of every row, as float64."""
    if is_torch(matrix):
        import torch

        wide = torch.float64 if matrix.dtype == torch.float64 else torch.float32
        norms = torch.linalg.vector_norm(matrix, dim=1, dtype=wide)
        return norms.double().cpu().numpy() ** 2
    total = np.zeros(len(matrix))
    for at in range(0, matrix.shape[1], _CHUNK):
        piece = matrix[:, at : at + _CHUNK]
        piece = piece.astype(np.float32) if piece.dtype.itemsize < 4 else piece
        total += np.einsum("ij,ij->i", piece, piece)
    return total


def columns(matrix: Any, index: Any) -> Any:
    """The probed columns (or elements of a vector) as float64."""
    if is_torch(matrix):
        import torch

        at = torch.as_tensor(index, device=matrix.device)
        return matrix.index_select(matrix.ndim - 1, at).double().cpu().numpy()
    return np.asarray(matrix[..., index], dtype=np.float64)


def times(matrix: Any, vector: Any) -> Any:
    """matrix · vector of the same framework, as float64."""
    if is_torch(matrix):
        wide = matrix if matrix.dtype == vector.dtype else matrix.to(vector.dtype)
        return (wide @ vector).double().cpu().numpy()
    return np.asarray(matrix @ vector, dtype=np.float64)


def vector_of(matrix: Any, row: int) -> Any:
    """One row as a vector of at least single precision."""
    vector = matrix[row]
    if is_torch(vector):
        return vector.float() if vector.element_size() < 4 else vector
    return vector.astype(np.float32) if vector.dtype.itemsize < 4 else vector


def precision(part: Any) -> float:
    """The rounding unit of the numbers in it."""
    if is_torch(part):
        import torch

        return float(torch.finfo(part.dtype).eps)
    return float(np.finfo(part.dtype).eps)


def low_bits_zero(part: Any, index: Any, bits: int) -> Optional[tuple[int, int]]:
    """How many of the probed values end in `bits` zero bits, and how many were looked at; None below 32 bits."""
    if is_torch(part):
        if part.element_size() < 4:
            return None
        import torch

        part = part.index_select(0, torch.as_tensor(index, device=part.device)).cpu().numpy()
    elif part.dtype.itemsize < 4:
        return None
    else:
        part = np.ascontiguousarray(part[index])
    words = part.view(np.uint32 if part.dtype.itemsize == 4 else np.uint64)
    return int(np.count_nonzero((words & words.dtype.type((1 << bits) - 1)) == 0)), len(words)
