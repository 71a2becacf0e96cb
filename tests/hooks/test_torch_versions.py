"""A kind that this torch lacks is a request error, before anything of the user's runs."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

import hookcli
from hookcli.catalogue.kinds import CATALOGUE
from hookcli.engine.attempt import Session
from hookcli.errors import ProblemsError, RequestError
from hookcli.spec.hooks import HookSpec
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec
from hookcli.torch_private import NEWEST, OLDEST, as_numbers, unavailable


@pytest.fixture
def future(monkeypatch):
    """A kind of a torch that does not exist yet."""
    for name in ("forward", "tensor"):
        kind = dataclasses.replace(CATALOGUE[name], since="9.1")
        monkeypatch.setitem(CATALOGUE, name, kind)
    return f"needs torch 9.1 or newer, this is {torch.__version__}"


def test_a_kind_that_this_torch_lacks_is_refused_before_the_model_is_imported(future, tmp_path):
    file = tmp_path / "net.py"
    file.write_text("raise AssertionError('the model was imported')\n")
    hook = HookSpec(0, "forward", place="hooks.yaml:3")
    spec = Spec("trace", ModelSpec(str(file)), RunSpec(), hooks=(hook,))
    with pytest.raises(RequestError) as caught:
        Session(spec, Attempt("real"), lambda *_: None)
    assert caught.value.message == f"kind forward {future}"
    assert caught.value.place == "hooks.yaml:3"


def test_the_python_api_says_the_same_of_all_kinds_at_once(future, tmp_path):
    config = tmp_path / "hooks.yaml"
    config.write_text(
        "hooks:\n- {kind: forward, at: '*', do: record}\n- {kind: tensor, at: weight, do: record}\n"
    )
    with pytest.raises(ProblemsError) as caught:
        hookcli.trace(nn.Linear(2, 2), torch.ones(1, 2), config=config)
    messages = [problem.message for problem in caught.value.problems]
    assert messages == [f"kind forward {future}", f"kind tensor {future}"]
    with pytest.raises(ProblemsError), hookcli.attach(nn.Linear(2, 2), config):
        pass


def test_what_a_version_lacks_is_read_from_the_rows(future):
    missing = unavailable(NEWEST)
    assert missing == {"kind forward": "9.1", "kind tensor": "9.1"}
    assert unavailable(OLDEST).keys() >= missing.keys()


def test_the_newest_version_that_was_tried_lacks_nothing():
    assert unavailable(NEWEST) == {}
    assert all(as_numbers(kind.since) <= as_numbers(NEWEST) for kind in CATALOGUE.values())
