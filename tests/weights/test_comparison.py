"""What a comparison says of two files is what plain torch finds between their tensors."""

from __future__ import annotations

import pytest
import torch

from hookcli.weights.comparing import compare
from hookcli.weights.opening import open_weights
from tests.weights.files import as_safetensors, as_zip


def _state():
    generator = torch.Generator().manual_seed(0)
    return {f"layers.{i}.w": torch.randn(8, 9, generator=generator) for i in range(3)}


def _compared(a, b, tmp_path, tolerance=()):
    first = as_safetensors(dict(a), tmp_path)
    second = as_zip(dict(b), tmp_path)
    weights = (open_weights(str(path), str(path)) for path in (first, second))
    return compare(*weights, tolerance)


def test_each_kind_of_change_is_told(tmp_path):
    a, b = _state(), _state()
    b["layers.0.w"] = a["layers.0.w"] * 1.5
    b["layers.1.w"][2, 3] += 0.25
    b["moved"] = b.pop("layers.2.w")
    a["gone"], b["new"] = torch.ones(3), torch.ones(5)
    a["head"], b["head"] = torch.ones(4), torch.ones(6)
    diff = _compared(a, b, tmp_path)
    rows = {row.a or row.b: row for row in diff.rows}
    assert {name: row.status for name, row in rows.items()} == {
        "layers.0.w": "changed", "layers.1.w": "changed", "layers.2.w": "renamed",
        "gone": "removed", "new": "added", "head": "reshaped",
    }  # fmt: skip
    assert rows["layers.2.w"].b == "moved"
    assert diff.verdict == "different"
    for name in ("layers.0.w", "layers.1.w"):
        moved = b[name].double() - a[name].double()
        relative = (moved.norm() / a[name].double().norm()).item()
        assert rows[name].relative == pytest.approx(relative, rel=1e-12)
        assert rows[name].largest == pytest.approx(moved.abs().max().item(), rel=1e-12)
        assert rows[name].differing == int((moved != 0).sum())
    assert [group.name for group in diff.groups] == ["layers.0", "layers.1"]


def test_an_exact_conversion_is_the_same(tmp_path):
    a = _state()
    assert _compared(a, {k: v.double() for k, v in a.items()}, tmp_path).verdict == "same"
    strided = {k: v.t().contiguous().t() for k, v in a.items()}
    assert _compared(a, strided, tmp_path).totals.same == 3


def test_a_tolerance_decides_what_is_close(tmp_path):
    a = _state()
    b = {f"module.{k}": v.bfloat16() for k, v in a.items()}
    assert _compared(a, b, tmp_path).totals.changed == 3
    near = _compared(a, b, tmp_path, (("*", 0.01),))
    assert (near.verdict, near.totals.close, near.totals.other_dtype) == ("same", 3, 3)


def test_nan_in_one_place_is_equal_and_in_another_is_not(tmp_path):
    a, b = _state(), _state()
    a["layers.0.w"][0, 0] = b["layers.0.w"][0, 0] = float("nan")
    assert _compared(a, b, tmp_path).verdict == "same"
    b["layers.1.w"][0, 0] = float("nan")
    row = _compared(a, b, tmp_path).rows[0]
    assert (row.a, row.relative, row.non_finite) == ("layers.1.w", "inf", 1)
