"""TorchScript files on the command line: read only, told apart, refused with a reason."""

from __future__ import annotations

import gc
import hashlib
import warnings
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

import hookcli
from hookcli.errors import RequestError
from hookcli.models.torchscript import operators
from tests.models.torchscript import nets
from tests.models.torchscript.nets import NETS, Loop, batch
from tests.models.torchscript.sides import loaded, observed, scripted, traced


@pytest.fixture
def net(tmp_path):
    """A scripted model in a file."""
    torch.manual_seed(0)
    path = tmp_path / "net.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(scripted(Loop()), str(path))
    return path


def saved(module, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(module, str(path))
    return path


def edited(path, target, change):
    """A copy of an archive; `change(name, data)` gives each entry's new content."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as out:
        for name in source.namelist():
            out.writestr(name, change(name, source.read(name)))
    return target


@pytest.mark.parametrize("command", ["inspect", "grads", "trace"])
def test_a_command_shows_a_file_as_it_shows_the_model(cli, net, command):
    before = hashlib.sha256(net.read_bytes()).hexdigest()
    result = cli(command, net, "-i", "3x4", "-f", "json")
    assert result.status == 0, result.err
    report = result.report
    assert report["model"]["format"] == "torchscript"
    assert report["model"]["type"] == "Loop"
    rows = [(row["name"], row["type"], row["call"]) for row in report["layers"]]
    assert rows == [
        ("", "Loop", 0), ("blocks.0", "Block", 0), ("blocks.0.c", "Linear", 0),
        ("blocks.0.act", "Tanh", 0), ("blocks.1", "Block", 0), ("blocks.1.c", "Linear", 0),
        ("blocks.1.act", "Tanh", 0), ("head", "Linear", 0),
    ]  # fmt: skip
    assert [row["name"] for row in report["uncalled"]] == ["unused"]
    assert report["model"]["parameters"] == sum(p.numel() for p in Loop().parameters())
    if command == "inspect":
        assert sum(row["macs"] for row in report["layers"]) == 3 * (16 + 16 + 12)
    if command == "grads":
        states = {row["name"]: row["status"] for row in report["parameters"]}
        assert states.pop("unused.weight") == states.pop("unused.bias") == "none"
        assert set(states.values()) == {"ok"}
    assert hashlib.sha256(net.read_bytes()).hexdigest() == before
    assert [path.name for path in net.parent.iterdir()] == ["net.pt"]


def test_the_batch_is_inferred_from_a_scripted_signature(cli, net):
    report = cli("inspect", net, "-f", "json").report
    assert report["inputs"]["origin"] == "inferred"
    assert report["inputs"]["args"][0]["shape"] == [2, 4]
    assert "_local_scalar_dense" in report["run"]["fallback"]  # the model looks at a value


def test_a_file_runs_fake_where_the_model_looks_at_no_value(cli, tmp_path):
    saved(scripted(nn.Sequential(nn.Linear(4, 3), nn.Tanh())), tmp_path / "net.pt")
    report = cli("inspect", "net.pt", "-f", "json").report
    assert (report["run"]["tensors"], report["inputs"]["origin"]) == ("fake", "inferred")
    assert report["layers"][1]["macs"] == 2 * 12


def test_an_error_names_the_layer_and_the_line_of_the_source(cli, net):
    result = cli("inspect", net, "-i", "3x5")
    error, place, hint = result.error()
    assert result.status == 3
    assert error.startswith("RuntimeError in forward, in 'blocks.0.c' (Linear): mat1 and mat2")
    source = Path(nets.__file__).read_text().splitlines()
    line = 1 + source.index("        return self.act(self.c(x))")
    assert place.endswith(f"tests/models/torchscript/nets.py:{line}")
    assert "try `-i 3x4`: 'blocks.0.c' takes 4 features, not 5" in hint


def test_hooks_from_yaml_stand_on_a_file(cli, net):
    (net.parent / "hooks.yaml").write_text(
        "model: net.pt\ninputs: ['3x4']\nhooks:\n"
        "- {kind: forward, at: blocks.1.c, do: [{scale: 0.5}, stats]}\n"
        "- {kind: tensor, at: 'head:output', do: stats}\n"
    )
    report = cli("trace", "-c", "hooks.yaml", "-f", "json").report
    first, second = report["events"]
    assert (first["target"], first["kind"]) == ("blocks.1.c", "forward")
    assert first["changed"] == pytest.approx(first["values"][0]["stats"]["norm"], rel=1e-5)
    assert (second["target"], second["phase"]) == ("head:output", "backward")


def test_kinds_that_it_cannot_have_are_refused_all_at_once(cli, net):
    (net.parent / "hooks.yaml").write_text(
        "model: net.pt\ninputs: ['3x4']\nhooks:\n"
        "- {kind: full_backward, at: head}\n- {kind: state_dict_post, at: '*'}\n"
        "- {kind: module_registration}\n"
    )
    result = cli("trace", "-c", "hooks.yaml")
    assert result.status == 2
    assert [line for line in result.err.splitlines() if line.startswith("  --> ")] == [
        f"  --> hooks.yaml:{line}: hooks[{i}]" for i, line in enumerate((4, 5, 6))
    ]
    assert "kind full_backward cannot be attached to a TorchScript model" in result.err


def test_a_frozen_model_shows_its_operators_and_says_why(cli, tmp_path):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frozen = torch.jit.freeze(scripted(nn.Sequential(nn.Linear(4, 3), nn.Tanh()).eval()))
    saved(frozen, tmp_path / "frozen.pt")
    report = cli("inspect", "frozen.pt", "-i", "2x4", "-f", "json").report
    rows = [(row["type"], row["registered"]) for row in report["layers"]]
    assert rows == [("Sequential", True), ("aten::linear", False), ("aten::tanh", False)]
    assert report["layers"][1]["macs"] == 2 * 4 * 3
    assert report["layers"][2]["outputs"][0]["shape"] == [2, 3]
    assert any(warning.startswith("frozen: ") for warning in report["warnings"])


def test_a_scripted_child_of_a_python_module_is_seen_inside(cli, tmp_path):
    (tmp_path / "model.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Inner(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(4, 4)\n\n"
        "    def forward(self, x):\n        return self.l(x).relu()\n\n\n"
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(4, 4)\n        self.b = torch.jit.script(Inner())\n"
        "        self.b(torch.ones(1, 4))  # it has run before\n\n"
        "    def forward(self, x):\n        return self.b(self.b(self.a(x)))\n"
    )
    for command in ("inspect", "grads"):
        report = cli(command, "model.py:Net", "-i", "2x4", "-f", "json").report
        assert [(row["name"], row["call"]) for row in report["layers"]] == [
            ("", 0), ("a", 0), ("b", 0), ("b.l", 0), ("b", 1), ("b.l", 1)
        ]  # fmt: skip
        assert report["uncalled"] == []


@pytest.mark.parametrize(
    ("layers", "batch", "inferred"),
    [
        ([nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 2)], (2, 3, 8, 8), [2, 3, 8, 8]),
        ([nn.ConvTranspose1d(5, 4, 3), nn.Tanh()], (2, 5, 8), [2, 5, 8]),
        ([nn.Embedding(20, 8), nn.Linear(8, 2)], None, [2, 16]),
        ([nn.Linear(7, 2), nn.ReLU()], (2, 7), [2, 7]),
    ],
)
def test_a_traced_layer_has_no_constants_and_its_weights_tell_its_sizes(
    cli, tmp_path, layers, batch, inferred
):
    given = torch.randint(0, 20, (2, 7)) if batch is None else torch.randn(batch)
    saved(traced(nn.Sequential(*layers).eval(), given), tmp_path / "net.pt")
    result = cli("inspect", "net.pt", "-f", "json")
    assert result.status == 0, result.err
    (found,) = result.report["inputs"]["args"]
    assert (found["shape"], result.report["inputs"]["origin"]) == (inferred, "inferred")


@pytest.mark.parametrize(
    ("made", "command", "shape"),
    [
        (nets.Digits, "inspect", [2, 1, 28, 28]),
        (nets.Words, "inspect", [2, 16]),
        (nets.Words, "grads", [2, 16]),  # real ids, of which each must be in the table
    ],
)
def test_layers_of_torch_tell_their_sizes_to_the_search_for_a_batch(
    cli, tmp_path, made, command, shape
):
    saved(scripted(made()), tmp_path / "net.pt")
    result = cli(command, "net.pt", "-f", "json")
    assert result.status == 0, result.err
    [first] = [one for one in result.report["inputs"]["args"] if "shape" in one]
    assert (first["shape"], result.report["inputs"]["origin"]) == (shape, "inferred")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda name, data: b"99999" if name.endswith("version") else data,
            "a newer torch wrote this file: its format version is 99999",
        ),
        (
            lambda name, data: data.replace(b"torch.tanh", b"torch.ta(nh"),
            "cannot load the TorchScript file",
        ),
        (
            lambda name, data: data.replace(b"torch.tanh(", b"ops.mine.clip("),
            "the model calls the operator mine::clip, which is not registered",
        ),
    ],
    ids=["newer", "damaged code", "unknown operator"],
)
def test_a_file_that_cannot_be_loaded_says_why(cli, net, change, words):
    edited(net, net.parent / "bad.pt", change)
    result = cli("inspect", "bad.pt", "-i", "2x4")
    assert result.status == 3
    assert words in result.error()[0]
    assert {path.name for path in net.parent.iterdir()} == {"net.pt", "bad.pt"}


def test_a_truncated_file_is_no_model(cli, net):
    whole = net.read_bytes()
    net.write_bytes(whole[: len(whole) // 2])
    result = cli("inspect", "net.pt")
    assert result.status == 3
    assert "net.pt" in result.error()[1]


def test_a_module_without_forward_says_what_it_has(cli, tmp_path):
    saved(scripted(nn.LSTM(4, 4)), tmp_path / "lstm.pt")
    result = cli("inspect", "lstm.pt")
    assert result.status == 3
    assert result.error()[0].startswith("LSTM has no method forward")


def test_constructor_arguments_are_refused(cli, net):
    result = cli("inspect", net, "--arg", "depth=2")
    assert (result.status, result.error()[1]) == (2, "--arg depth=2")


def test_eight_runs_leave_nothing_behind():
    make, x = NETS["loop"]
    script = loaded(scripted(make()))
    tensors = []
    for i in range(8):
        recording = observed(script, x())
        del recording
        script.zero_grad()
        gc.collect()
        if i >= 2:
            tensors.append(sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects()))
    assert max(tensors) == min(tensors)


def test_the_python_interface_runs_a_copy(net):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.jit.load(str(net))
    owners = len(operators._owners)
    report = hookcli.grads(module, (batch(),))
    assert [row.name for row in report.layers][:3] == ["", "blocks.0", "blocks.0.c"]
    assert all(p.grad is None for p in module.parameters())
    assert len(operators._owners) == owners
    again = saved(module, net.parent / "again.pt")
    with zipfile.ZipFile(again) as archive:
        code = [archive.read(n) for n in archive.namelist() if n.endswith(".py")]
    assert not any(b"hookcli" in text for text in code)


def test_a_loop_cannot_follow_one():
    with pytest.raises(RequestError, match="cannot be attached to a TorchScript module"):
        hookcli.attach(traced(nn.Sequential(nn.Linear(4, 2)), batch()))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.table(x))


def test_a_weight_that_a_trace_hands_on_is_no_input(tmp_path):
    batch = torch.randint(0, 10, (2, 5))
    saved(traced(Tied().eval(), batch), tmp_path / "net.pt")
    report = hookcli.inspect(torch.jit.load(tmp_path / "net.pt"), (batch,))
    rows = {row.name: [leaf.shape for leaf in row.inputs] for row in report.layers}
    assert rows == {"": [(2, 5)], "table": [(2, 5)], "head": [(2, 5, 4)]}
