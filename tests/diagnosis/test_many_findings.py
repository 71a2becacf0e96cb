"""The verdict about a model with thousands of findings takes no search for each of them.

If each finding is compared with each parameter, these tests take an hour.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

import hookcli
from hookcli.diagnosis.diagnose import with_verdict
from hookcli.report.findings import Measurement
from hookcli.report.path_ends.end_rows import REASON
from hookcli.report.report import Report
from hookcli.report.schema import from_json

MANY = 10_000


@pytest.fixture(scope="module")
def small():
    model = nn.Sequential(nn.Linear(2, 2, bias=False))
    report = from_json(hookcli.grads(model, torch.randn(3, 2)).to_json())
    return dataclasses.replace(report, checks=(), diagnoses=None, examined=None, edges=None)


def repeated(small: Report, status: str) -> Report:
    """A chain of layers, of whose weights every second one has a status; the last one is zero."""
    root, layer = small.layers
    (weight,) = small.parameters
    layers = [dataclasses.replace(layer, order=i + 1, name=f"{i}") for i in range(MANY)]
    parameters = [
        dataclasses.replace(weight, name=f"{i}.weight", status="ok" if i % 2 else status)
        for i in range(MANY)
    ]
    zero = {**(weight.stats or {}), "norm": 0.0}
    parameters[-1] = dataclasses.replace(parameters[-1], stats=zero)
    return dataclasses.replace(
        small, layers=(root, *layers), parameters=tuple(parameters), measurements=()
    )


def test_thousands_of_zero_gradients_have_one_cause(small):
    report = with_verdict(repeated(small, "zero"))
    (found,) = (one for one in report.diagnoses or () if one.cause == "zero_initialization")
    assert found.sentence.startswith(f"{MANY // 2:,} parameters got zero gradients because")
    assert f"'{MANY - 1}.weight' is zero" in found.sentence
    assert len(found.fingerprints) == MANY // 2


def test_thousands_of_missing_gradients_are_explained_by_the_operator_that_cuts_them_off(small):
    cut_off = [f"{i}" for i in range(0, MANY, 2)]
    value = {"why": "cut", "parameters": len(cut_off), "cut_off": cut_off, "kind": "detach",
             "operator": "detach", "layer": "1", "module": "1", "place": "net.py:3"}  # fmt: skip
    rows = (
        Measurement(REASON, "", None, {"count": len(cut_off)}, None),
        Measurement(REASON, "0", None, value, None),
    )
    report = dataclasses.replace(repeated(small, "none"), measurements=rows)
    found = with_verdict(report).diagnoses or ()
    (first,) = (one for one in found if "grad_exists" in one.rules)
    assert first.place == "net.py:3"
    assert len(first.fingerprints) == len(cut_off) + 1
