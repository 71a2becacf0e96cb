"""What is asked of a .pt2 file: inputs, hooks, and files that are not as they should be."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import zipfile

import pytest
import torch
from torch import nn
from torch.export import Dim

from hookcli import torch_private
from hookcli.errors import ModelError, RequestError
from hookcli.models.exported.archive import open_program
from hookcli.models.load import load
from hookcli.spec.request import ModelSpec
from tests import truth
from tests.conftest import ROOT, attempt
from tests.models.exporting import Regions, Scaled, plain, save


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x, *, mask=None):
        return self.fc(x) * mask


@pytest.fixture
def dynamic(tmp_path):
    batch = Dim("batch", min=1, max=64)
    shapes = {"x": {0: batch}, "mask": {0: batch}}
    args, kwargs = (torch.randn(2, 8),), {"mask": torch.ones(2, 4)}
    return save(tmp_path / "pair.pt2", Pair().eval(), args, kwargs, dynamic_shapes=shapes)


@pytest.fixture
def fixed(tmp_path):
    return save(tmp_path / "fixed.pt2", nn.Sequential(nn.Linear(8, 4)), (torch.randn(2, 8),))


def rewritten(path, change):
    """The file with its program's JSON changed, or members of other names added."""
    data = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(data) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("models/model.json"):
                content = json.dumps(change(json.loads(content))).encode()
            new.writestr(name, content)
    return path


def test_the_file_s_own_batch_is_taken_and_dynamic_sizes_are_told(dynamic):
    report = attempt(dynamic)
    assert report.inputs.origin == "declared"
    assert [leaf.shape for leaf in report.layers[0].inputs] == [(2, 8), (2, 4)]
    assert "x.shape[0] = mask.shape[0] = s" in report.warnings[0]
    assert "(1 to 64)" in report.warnings[0]


@pytest.mark.parametrize("given", [("5x8", "mask=5x4"), ("5x8", "5x4"), ("mask=5x4", "x=5x8")])
def test_a_dynamic_size_is_taken_by_position_or_name(dynamic, given):
    report = attempt(dynamic, *given)
    assert report.error is None
    assert report.layers[0].outputs[0].shape == (5, 4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("65x8", "mask=65x4"), r"dimension 0 of x \(s\d+\) must be 1 to 64, got 65"),
        (
            ("5x8", "mask=6x4"),
            r"0 of x and dimension 0 of mask must be equal \(s\d+\), got 5 and 6",
        ),
        (("5x7", "mask=5x4"), "dimension 1 of x must be 8, which the export fixed, got 7"),
        (("5x8x1", "mask=5x4"), r"x must have 2 dimensions \(x \[s\d+, 8\]\), got 3"),
        (("3x8",), r"must be equal \(s\d+\), got 3 and 2"),  # the file's own mask
        (("5x8", "mask=value:3"), "mask must be a tensor, got 3"),
    ],
)
def test_a_size_that_was_not_exported_is_named_with_what_is_allowed(dynamic, given, said):
    error = attempt(dynamic, *given).error
    assert error.type == "ModelError"
    assert re.search(said, error.message), error.message


def test_a_fixed_size_ends_in_three_lines(cli, fixed):
    done = cli("inspect", fixed, "-i", "3x8")
    assert done.status == 3
    message, place, _ = done.error()
    assert "dimension 0 of input must be 2, which the export fixed, got 3" in message
    assert place == "--input"


def test_an_argument_that_the_export_fixed_may_be_left_out(tmp_path):
    path = save(tmp_path / "m.pt2", Scaled().eval(), (torch.randn(2, 4), 3.0))
    assert attempt(path, "2x4").error is None
    error = attempt(path, "2x4", "scale=value:2.0").error
    assert "scale must be 3.0, which the export fixed, got 2.0" in error.message


@pytest.mark.parametrize("command", ["inspect", "trace"])
def test_the_commands_take_a_file(cli, dynamic, command):
    done = cli(command, dynamic, "-f", "json")
    assert done.status == 0, done.err
    assert done.report["model"]["format"] == "exported"
    assert [row["name"] for row in done.report["layers"]] == ["", "fc"]
    assert "Warning" not in done.err


HOOKS = """
hooks:
  - {{kind: {kind}, at: "{at}", do: [{{scale: 0.5}}]}}
"""


@pytest.mark.parametrize(
    ("kind", "at"), [("forward", "fc"), ("tensor", "fc:output"), ("full_backward_pre", "fc")]
)
def test_a_hook_halves_a_gradient_as_it_does_for_the_module(cli, tmp_path, kind, at):
    truth.seed()
    model, args, kwargs = Pair().eval(), (torch.randn(2, 8),), {"mask": torch.ones(2, 4)}
    norms = plain(model, args, kwargs).norms
    path = save(tmp_path / "m.pt2", model, args, kwargs)
    (tmp_path / "hooks.yaml").write_text(HOOKS.format(kind=kind, at=at))
    done = cli("grads", path, "--loss", "sum", "-c", "hooks.yaml", "-f", "json")
    assert done.status == 0, done.err
    found = {row["name"]: row["grad"]["norm"] for row in done.report["parameters"]}
    assert found == {name: pytest.approx(norm / 2) for name, norm in norms.items()}


@pytest.mark.parametrize("kind", ["state_dict_post", "load_state_dict_pre"])
def test_state_hooks_fire_with_the_original_s_names(cli, tmp_path, dynamic, kind):
    (tmp_path / "hooks.yaml").write_text(f"hooks: [{{kind: {kind}, at: fc, do: record}}]")
    done = cli("trace", dynamic, "-c", "hooks.yaml", "-f", "json")
    assert done.status == 0, done.err
    events = [event for event in done.report["events"] if event["kind"] == kind]
    assert [event["target"] for event in events] == ["fc"]


def test_a_kind_that_fires_while_a_model_is_built_is_refused(cli, tmp_path, dynamic):
    (tmp_path / "hooks.yaml").write_text("hooks: [{kind: module_registration, do: record}]")
    done = cli("trace", dynamic, "-c", "hooks.yaml")
    assert done.status == 2
    assert "its modules are already built" in done.error()[0]


def test_a_region_that_raises_leaves_no_grad_mode_behind(tmp_path):
    path = save(tmp_path / "m.pt2", Regions().eval(), (torch.randn(3, 4),))
    root = load(ModelSpec(str(path)), phase=lambda _: None).root

    def refuse(*_):
        raise KeyError("a hook")

    with root.b.register_forward_hook(refuse), pytest.raises(KeyError):
        root(torch.randn(3, 4))
    assert torch.is_grad_enabled()
    assert root(torch.randn(3, 4)).requires_grad


def test_weights_of_the_module_go_into_the_program(tmp_path, dynamic):
    truth.seed(5)
    other = Pair().eval()
    torch.save(other.state_dict(), tmp_path / "w.pt")
    report = attempt(dynamic, weights=str(tmp_path / "w.pt"))
    assert report.error is None


def test_a_newer_format_is_named(fixed):
    def newer(program):
        program["schema_version"]["major"] = 99
        program["torch_version"] = "9.9.9"
        return program

    with pytest.raises(ModelError, match=r"version 99 .*by torch 9\.9\.9.* reads version") as told:
        opened(rewritten(fixed, newer))
    assert "export it again with this torch" in told.value.hint


def opened(path):
    with path.open("rb") as file:
        return open_program(file, "m.pt2")


def test_a_missing_operator_is_named_with_the_way_out(fixed):
    def foreign(program):
        program["graph_module"]["graph"]["nodes"][0]["target"] = "torch.ops.mine.clip.default"
        return program

    with pytest.raises(ModelError, match="the operator mine::clip, which is not registered") as e:
        opened(rewritten(fixed, foreign))
    assert "libraries: [libmine.so]" in e.value.hint


@pytest.mark.parametrize(
    "change",
    [
        lambda program: [],
        lambda program: {**program, "graph_module": {}},
        lambda program: {**program, "graph_module": {**program["graph_module"], "graph": None}},
    ],
)
def test_a_program_that_is_not_one_ends_in_three_lines(cli, fixed, tmp_path, change):
    rewritten(fixed, change)
    done = cli("inspect", fixed, "-o", "report.json", "-f", "json")
    assert done.status == 3, done.err
    assert fixed.name in done.error()[1] or "cannot " in done.error()[0]
    assert not (tmp_path / "report.json").exists()


def test_a_cut_file_ends_in_three_lines(cli, fixed, tmp_path):
    data = fixed.read_bytes()
    fixed.write_bytes(data[: len(data) // 2])
    done = cli("inspect", fixed, "-o", "report.json", "-f", "json")
    assert done.status == 3, done.err
    done.error()
    assert not (tmp_path / "report.json").exists()


def test_compiled_code_and_several_programs_are_refused(fixed):
    with zipfile.ZipFile(fixed, "a") as archive:
        program = archive.read("fixed/models/model.json")
        archive.writestr("fixed/models/other.json", program)
    with pytest.raises(RequestError, match="contains 2 exported programs"):
        opened(fixed)
    with zipfile.ZipFile(fixed, "a") as archive:
        archive.writestr("fixed/data/aotinductor/model/x.so", b"")
    with pytest.raises(RequestError, match="compiled code"):
        opened(fixed)


WRITES = """
import dataclasses, sys, torch
from torch import nn
@dataclasses.dataclass
class Output:
    score: torch.Tensor
    hidden: torch.Tensor = None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return Output(self.fc(x), x.sum())
torch.export.register_dataclass(Output, serialized_type_name="elsewhere.Output")
torch.export.save(torch.export.export(Net(), (torch.randn(2, 4),)), sys.argv[1])
"""


def test_a_container_of_a_class_that_is_not_here_keeps_its_names(cli, tmp_path):
    path = tmp_path / "m.pt2"
    subprocess.run([sys.executable, "-W", "ignore", "-c", WRITES, path], check=True, cwd=ROOT)
    done = cli("inspect", path, "-f", "json")
    assert done.status == 0, done.err
    outputs = done.report["layers"][0]["outputs"]
    assert [leaf["path"] for leaf in outputs] == [".score", ".hidden"]


def test_a_torch_that_cannot_rebuild_layers_is_named(tmp_path, monkeypatch):
    path = save(tmp_path / "m.pt2", nn.Linear(2, 2), (torch.ones(1, 2),))
    monkeypatch.setattr(torch_private, "load_pt2", None)
    with pytest.raises(RequestError) as caught:
        attempt(path)
    assert (
        caught.value.message == f"a .pt2 file needs torch 2.8 or newer, this is {torch.__version__}"
    )
