"""With an older torch, the memory of layers is refused before the model is imported."""

from __future__ import annotations

import pytest

from hookcli import torch_private
from hookcli.engine.attempt import Session
from hookcli.errors import RequestError
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec
from hookcli.spec.what_if import parse_what_if


@pytest.mark.parametrize("tensors", ["fake", "real"])
@pytest.mark.parametrize(
    ("run", "place"),
    [
        (RunSpec(memory=True), "--memory"),
        (RunSpec(what_if=(parse_what_if("batch=2"),)), "--what-if"),
    ],
)
def test_it_is_refused(monkeypatch, run, place, tensors):
    monkeypatch.setattr(torch_private, "_version", lambda: "2.8.0")
    spec = Spec("inspect", ModelSpec("no_such_file.py"), run=run)
    with pytest.raises(RequestError) as refused:
        Session(spec, Attempt(tensors), lambda *_: None)
    assert refused.value.message == "the memory of layers needs torch 2.10 or newer, this is 2.8.0"
    assert refused.value.place == place
    assert torch_private.MEMORY in torch_private.unavailable("2.8.0")
    assert torch_private.MEMORY not in torch_private.unavailable("2.10.0")
