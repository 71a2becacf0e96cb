"""The figures of each tensor in a file are those that torch computes of it."""

from __future__ import annotations

import math

import pytest
import torch

from hookcli.weights.inspection import inspect
from hookcli.weights.opening import open_weights
from tests.weights.files import IMPOSSIBLE, STATES, WRITERS

_CASES = [
    (writer, state) for writer in WRITERS for state in STATES if (writer, state) not in IMPOSSIBLE
]


def _number(value):
    return None if value is None else float(value)


def _norm(wide):
    """Return the 2-norm; torch's own leaves the range of float64 with the squares."""
    unit = wide.abs().max().item() if wide.numel() else 1.0
    if not unit or not math.isfinite(unit):
        return torch.linalg.vector_norm(wide).item()
    return torch.linalg.vector_norm(wide / unit).item() * unit


def _truth(tensor):
    """Return norm, mean, std, min, max, zeros, NaN and Inf by plain torch in float64."""
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    flat = tensor.detach().contiguous().reshape(-1)
    moduli = flat.is_complex()
    if moduli:
        parts = torch.view_as_real(flat.to(torch.complex128))
        nan = parts.isnan().any(-1)
        wide = flat.to(torch.complex128).abs()
        wide[nan] = math.nan
    else:
        wide = flat.double() if flat.dtype != torch.bool else flat.long().double()
    few = wide.numel() < 2
    ends = (None, None) if moduli or not wide.numel() else (wide.min().item(), wide.max().item())
    return {
        "norm": _norm(wide),
        "mean": None if moduli or not wide.numel() else wide.mean().item(),
        "std": None if moduli or few else wide.std().item(),
        "min": ends[0],
        "max": ends[1],
        "zeros": int((wide == 0).sum()),
        "nans": int(wide.isnan().sum()),
        "infs": int(wide.isinf().sum()),
    }


@pytest.mark.filterwarnings("ignore:.*quantize:UserWarning")
@pytest.mark.parametrize(("writer", "state"), _CASES)
def test_figures_are_those_of_torch(writer, state, tmp_path):
    tensors = STATES[state]()
    path = WRITERS[writer](tensors, tmp_path)
    report = inspect(open_weights(str(path), str(path)), values=True)
    rows = {row.name: row for row in report.tensors}
    assert rows.keys() == tensors.keys()
    for name, tensor in tensors.items():
        row = rows[name]
        assert row.shape == tuple(tensor.shape)
        assert row.dtype == str(tensor.dtype).removeprefix("torch.")
        assert row.bytes == tensor.numel() * tensor.element_size()
        for key, expected in _truth(tensor).items():
            found = _number(row.stats[key])
            if expected is None:
                assert found is None, (name, key)
            else:
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), (
                    name, key,
                )  # fmt: skip
