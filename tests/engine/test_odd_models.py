"""Every odd model: the report says what hooks attached by hand say, real and fake."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest
import torch

import hookcli
from hookcli.engine.attempt import Session
from hookcli.models.batch import Batch
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Attempt, ModelSpec, Spec
from tests import odd_models, truth
from tests.odd_models import ODD, RAISING

SOURCE = Path(odd_models.__file__).with_name("source.py")

# Where torch's own iterators, which the truth uses, are what is wrong; each is asserted below.
TORCH_IS_WRONG = {
    "param_overridden_iterators": "it hides all parameters but the adapter's",
    "hostile_equal_modules": "torch takes modules that are equal for the same",
    "hostile_hidden_children": "it hides a child that is called",
}
NO_ORDER = {"flow_threads_at_once", "call_deepcopy"}  # the copies are freed, their ids used again
# A module that is replaced in the forward loses its name for hooks attached before.
NAMED_LATER = {"call_registered_in_forward"}
# The child returned, then its own forward hook raised: the call gave nothing.
RAISED_AFTER = {"raise_in_hook"}
TRUE = sorted({*ODD, *RAISING} - {*TORCH_IS_WRONG} - NO_ORDER - NAMED_LATER - RAISED_AFTER)


def entry(name):
    return ODD.get(name) or RAISING[name]


@pytest.fixture(autouse=True)
def _room():
    """Hand-attached hooks need frames too."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3000)
    yield
    sys.setrecursionlimit(limit)


def hand_rows(name):
    odd = entry(name)
    truth.seed()
    model = odd.build().eval()
    args, kwargs = odd.batch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return truth.by_hand(model, args, kwargs)


def inspected(name):
    odd = entry(name)
    truth.seed()
    model = odd.build()
    args, kwargs = odd.batch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hookcli.inspect(model, Batch(args, kwargs))


@pytest.mark.parametrize("name", TRUE)
def test_rows_equal_hooks_attached_by_hand(name):
    rows, error = hand_rows(name)
    report = inspected(name)
    assert truth.of_report(report) == rows
    assert (report.error is None) == (error is None)
    if error is not None:
        assert report.error.type == type(error).__name__


SEEN_INSIDE = {"call_scripted_child"}  # of whose scripted child plain hooks see the outside alone


@pytest.mark.parametrize("name", sorted(n for n in TRUE if entry(n).fake and n not in SEEN_INSIDE))
def test_fake_rows_equal_real_hooks_attached_by_hand(name):
    rows, error = hand_rows(name)
    spec = Spec(
        "inspect",
        ModelSpec(f"{SOURCE}:{name}"),
        inputs=parse_inputs((f"{SOURCE}:{name}__batch",)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = Session(spec, Attempt("fake"), lambda *_: None).run().report
    if report.error is not None and report.error.type == "FakeDoubtError":
        assert name == "attn_encoder_fast_path"  # torch's fake kernel is wrong there, and seen
        return
    assert truth.of_report(report) == rows
    assert report.run.tensors == "fake"
    if error is not None:
        assert report.error.type == type(error).__name__


@pytest.mark.parametrize("name", sorted({*ODD, *RAISING}))
def test_every_format_renders(name):
    from hookcli.formats.registry import FORMATS
    from hookcli.formats.view import View
    from hookcli.report.schema import from_json

    report = inspected(name)
    for width in (40, 80, 200):
        for form in ("table", "tree", "markdown"):
            text = FORMATS[form].render(report, View(width=width))
            assert text.endswith("\n")
            if form == "table":
                table = [line for line in text.splitlines() if line.startswith(("├", "└", "│"))]
                assert all(len(line) <= max(width, 44) for line in table)
    again = from_json(FORMATS["json"].render(report, View()))
    assert FORMATS["json"].render(again, View()) == FORMATS["json"].render(report, View())


def test_overridden_iterators_hide_nothing():
    report = inspected("param_overridden_iterators")
    model = ODD["param_overridden_iterators"].build()
    held = sum(p.numel() for m in model.modules() for p in m._parameters.values() if p is not None)
    assert report.totals.parameters == held


def test_modules_that_are_equal_are_told_apart():
    rows = inspected("hostile_equal_modules").layers
    assert len({row.name for row in rows}) == len(rows)


def test_hidden_children_have_their_names():
    assert all(row.name is not None for row in inspected("hostile_hidden_children").layers)


def test_threads_without_order_are_all_seen():
    report = inspected("flow_threads_at_once")
    model = ODD["flow_threads_at_once"].build()
    called = {row.name for row in report.layers}
    assert called == {name for name, _ in model.named_modules()} - {
        name for name, m in model.named_modules() if isinstance(m, torch.nn.ModuleList)
    }


def test_a_deep_copy_made_in_forward_is_a_stranger():
    report = inspected("call_deepcopy")
    assert report.error is None
    strangers = [row for row in report.layers if not row.registered]
    assert strangers[0].type == "Block"
    assert strangers[0].parameters == 20
    assert all(row.name is None for row in strangers)


def test_a_child_replaced_in_forward_keeps_the_name_it_was_called_by():
    report = inspected("call_registered_in_forward")
    assert all(row.name is not None for row in report.layers)


def test_a_call_whose_own_hook_raised_has_no_output():
    report = inspected("raise_in_hook")
    assert report.layers[-1].outputs == ()
    assert report.layers[-1].notes == (f"raised {report.error.type}",)
