"""Whatever text stands in a program, loading it runs nothing, and never ends in a bug of ours."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging

import pytest
import torch
from torch._export.serde import schema

from hookcli.errors import HookcliError
from hookcli.models.exported.load import load_exported
from hookcli.models.exported.screening.graph_scan import screened
from hookcli.models.sources.parse import Archive
from hookcli.spec.request import ModelSpec
from tests.models import canaries, exporting, made

pytestmark = pytest.mark.filterwarnings("ignore")


class Odd(torch.nn.Module):
    """As many kinds of texts in its program as fit in a small one."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleDict({"a-b": torch.nn.Linear(4, 4), "c": torch.nn.ReLU()})
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x, *, pair, mode="sum"):
        def left(x):
            return x * 2

        def right(x):
            return x - 1

        self.seen.add_(1)
        x = torch.cond(x.sum() > 0, left, right, (x,))
        rows = torch.einsum("ij,kj->ik", self.layers["a-b"](x), x)
        rows = rows * x.shape[0]
        return {"y": self.layers["c"](rows) + torch.tensor([2.0]), "p": pair[0] + pair[1]}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A program's file."""
    path = tmp_path_factory.mktemp("pt2") / "m.pt2"
    batch = {"x": {0: torch.export.Dim("n", min=2, max=9)}, "pair": [{}, {}], "mode": None}
    given = {"pair": [torch.ones(2), torch.ones(2)], "mode": "sum"}
    return exporting.save(path, Odd(), (torch.ones(3, 4),), given, dynamic_shapes=batch)


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def load(path, **more):
    return load_exported(Archive(str(path), "exported"), ModelSpec(str(path), **more), str)


def doctored(healthy, path, changes):
    path.write_bytes(healthy.read_bytes())
    return made.rewritten(path, changes)


FIELDS = {  # what torch calls the fields of its own classes: they are no text of the user's
    field.name
    for kind in vars(schema).values()
    if dataclasses.is_dataclass(kind)
    for field in dataclasses.fields(kind)
}


def cases(program, mark, step=1):
    """(place, text for it, whether it goes wherever the same text stands), each `step`th."""
    for number, place in enumerate(canaries.one_of_each(canaries.places(program), FIELDS)):
        texts = canaries.texts(mark, place.text)
        for index in range(number % step, len(texts), step):
            yield place, texts[index], bool((index // step + number) % 2)


def reduced(value, kind=schema.ExportedProgram):
    """What torch would be given; None where it is refused."""
    try:
        found, reasons = screened(kind, value)
    except ValueError:
        return None
    return None if reasons else found


def test_no_text_of_a_program_runs(healthy, tmp_path):
    mark, program = tmp_path / "ran", json.loads(made.member(healthy, canaries.PROGRAM))
    lists = {name: json.loads(made.member(healthy, name)) for name in canaries.LISTS}
    whole = reduced(program)
    assert whole is not None
    accepted, refused = {}, 0
    for place, text, everywhere in cases(program, mark, step=8):
        found = reduced(canaries.replaced(program, place, text, everywhere=everywhere))
        if found is None:
            refused += 1
        elif found != whole:
            accepted[place.field, place.is_key, everywhere] = (found, place, text)
    assert refused > 300
    for (_, _, everywhere), (found, place, text) in accepted.items():
        changes = {canaries.PROGRAM: found}
        if everywhere:
            changes |= {
                name: canaries.replaced(one, place, text, everywhere=True)
                for name, one in lists.items()
            }
        path = doctored(
            healthy, tmp_path / "m.pt2", {n: canaries.dumped(one) for n, one in changes.items()}
        )
        with contextlib.suppress(HookcliError):
            load(path)
        assert not mark.exists(), (place, text)
    free = {"as_string", "stack_trace", "nn_module_stack", "metadata"}
    assert {field for field, _, _ in accepted} <= free


@pytest.mark.parametrize("trust", [True, False])
def test_a_doctored_program_is_no_bug_of_ours(trust, healthy, tmp_path):
    mark, program = tmp_path / "ran", json.loads(made.member(healthy, canaries.PROGRAM))
    for place, text, everywhere in cases(program, mark, step=89):
        new = canaries.replaced(program, place, text, everywhere=everywhere)
        path = doctored(healthy, tmp_path / "m.pt2", {canaries.PROGRAM: canaries.dumped(new)})
        try:
            load(path, trust=trust)
        except HookcliError as error:
            assert error.hint, (place, text)
        assert trust or not mark.exists(), (place, text)


def test_no_text_of_a_list_of_weights_runs(healthy, tmp_path):
    mark = tmp_path / "ran"
    for name in canaries.LISTS:
        listed = json.loads(made.member(healthy, name))
        for place, text, _ in cases(listed, mark, step=13):
            new = canaries.replaced(listed, place, text, everywhere=False)
            path = doctored(healthy, tmp_path / "m.pt2", {name: canaries.dumped(new)})
            with contextlib.suppress(HookcliError):
                load(path)
            assert not mark.exists(), (place, text)


@pytest.mark.parametrize("command", ["inspect", "grads", "diff"])
def test_a_command_runs_nothing_and_renders_nothing(command, healthy, tmp_path, cli):
    mark, program = tmp_path / "ran", json.loads(made.member(healthy, canaries.PROGRAM))
    place = next(p for p in canaries.places(program) if p.field == "parameter_name")
    text = next(t for t in canaries.texts(mark, place.text) if '")\r' in t)
    new = canaries.replaced(program, place, text, everywhere=True)
    doctored(healthy, tmp_path / "m.pt2", {canaries.PROGRAM: canaries.dumped(new)})
    others = ["m.pt2"] if command == "diff" else []
    result = cli(command, "m.pt2", *others, "-f", "json=r.json")
    assert result.status == 2
    assert "--trust" in result.error()[2]
    trusted = cli(command, "m.pt2", *others, "--trust", "-f", "json=r.json")
    assert trusted.status in {0, 1, 2, 3}, trusted.err
    if trusted.status in {0, 1}:
        shown = cli("render", "r.json")
        assert shown.status == 0, shown.err
