"""What a list in `at` names and nothing meets is told, and the rest stands."""

from __future__ import annotations

import pytest
import torch

import hookcli
from hookcli.errors import RequestError
from tests.hooks import models


def found(tmp_path, text, model=None, batch=None):
    config = tmp_path / "hooks.yaml"
    config.write_text(f"preset: none\nhooks:\n{text}\n")
    return hookcli.trace(
        model or models.Plain(), models.batch() if batch is None else batch, config=config
    )


@pytest.mark.parametrize(
    ("kind", "at", "typo", "hint"),
    [
        ("forward", "[fc, haed]", "haed", "try `head`"),
        ("forward", "[fc, {type: Linar}]", "{type: Linar}", "try `Linear`"),
        ("forward", "[fc, [fc, zzzzzz]]", "zzzzzz", "run `hookcli inspect` for the names"),
        ("tensor", '[fc.weight, "haed:output"]', "haed:output", "try `head`"),
        ("tensor", "[fc.weight, head]", "head", "use `head.*` for the parameters of module head"),
    ],
)
def test_a_typo_in_a_list_is_told(kind, at, typo, hint, tmp_path):
    report = found(tmp_path, f"  - {{kind: {kind}, at: {at}}}")
    [finding] = report.checks
    assert finding.target == typo
    assert f"nothing matches '{typo}' in the list of at: {hint}" in finding.message
    assert finding.place.endswith("hooks.yaml:3: hooks[0]")
    assert finding.severity == "warning"
    assert {e.target for e in report.events} == {"fc" if kind == "forward" else "fc.weight"}


def test_what_one_of_the_kinds_finds_is_found(tmp_path):
    report = found(tmp_path, "  - {kind: [forward, tensor], at: [fc, fc.weight]}")
    assert report.checks == ()
    assert {(e.kind, e.target) for e in report.events} == {
        ("forward", "fc"),
        ("tensor", "fc.weight"),
    }


def test_a_list_of_nothing_is_refused(tmp_path):
    with pytest.raises(RequestError, match="no module matches"):
        found(tmp_path, "  - {kind: forward, at: [cf, haed]}")


class Bare(torch.nn.Module):
    """Without a parameter."""

    def __init__(self):
        super().__init__()
        self.act = torch.nn.Tanh()

    def forward(self, x):
        return self.act(x)


@pytest.mark.parametrize("at", ['"*"', '["*", "*"]'])
def test_every_one_of_none_is_no_typo(at, tmp_path):
    entry = f"  - {{kind: tensor, at: {at}}}"
    assert found(tmp_path, entry, Bare(), torch.ones(2, requires_grad=True)).checks == ()
