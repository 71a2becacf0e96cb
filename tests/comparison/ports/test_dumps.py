"""`hookcli diff model.py FOLDER`: tensors that another program wrote, matched by value."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hookcli.comparison.ports.dump_files import dump_files
from tests.comparison.ports.models import Original, batch
from tests.comparison.ports.test_port_command import BUILDS, MODELS
from tests.conftest import run_cli


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write what the calls of a model return, each to a file, and return the folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(MODELS + BUILDS)
    torch.manual_seed(1)
    model, outputs = Original().eval(), {}
    for name, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_hook(lambda m, i, o, name=name: outputs.update({name: o}))
    model(batch())
    folder = tmp_path / "dumps"
    folder.mkdir()
    for name, value in outputs.items():
        np.save(folder / f"{name}.npy", value.detach().numpy())
    torch.save(batch(), tmp_path / "batch.pt")
    return folder


def diff(*more):
    return run_cli("diff", "net.py:original", "dumps", "-i", "batch.pt", *more)


def test_equal_values_are_found_in_other_names_and_layouts(written):
    name = "h.0.mlp.up"
    value = np.load(written / f"{name}.npy")
    (written / f"{name}.npy").unlink()
    torch.save({"k": torch.tensor(value).permute(2, 0, 1).contiguous()}, written / "other.pt")
    result = diff("-f", "json")
    assert result.status == 0, result.err
    assert '"name": "other.k"' in result.out
    assert '"verdict": "same"' in result.out


def test_the_earliest_call_that_differs_is_first(written):
    for name, factor in (("h.1.mlp.down", 1.01), ("h.0.attn.o_proj", 1.001)):
        file = written / f"{name}.npy"
        np.save(file, np.load(file) * factor)
    np.save(written / "unknown.npy", np.arange(7.0))
    result = diff()
    assert result.status == 1
    said = " ".join(result.out.split())
    assert "the tensor h.0.attn.o_proj is nearest to the output of h.0.attn.o_proj" in said
    assert "DIFFERENT: 2 of 22 tensors of B, 1 tensor of B that no call of A returns" in said


def test_a_difference_is_at_the_call_that_ends_first_not_at_the_one_around_it(
    tmp_path, monkeypatch
):
    """Tensors that the action `save` wrote, of all calls: those of the root come last."""
    monkeypatch.chdir(tmp_path)
    source = (
        "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        torch.manual_seed(0)\n"
        "        self.up, self.act = torch.nn.Linear(6, 9), torch.nn.GELU()\n"
        "        self.down = torch.nn.Linear(9, 3)\n"
        "    def forward(self, x):\n        return self.down(self.act(self.up(x)))\n"
    )
    (tmp_path / "net.py").write_text(source)
    (tmp_path / "port.py").write_text(source.replace("GELU()", "GELU('tanh')"))
    hooks = 'hooks: [{kind: forward, at: "**", do: {save: saved}}]'
    (tmp_path / "save.yaml").write_text(f"model: net.py\n{hooks}\n")
    assert run_cli("trace", "-c", "save.yaml", "-i", "2x6").status == 0
    result = run_cli("diff", "port.py", "saved", "-i", "2x6")
    assert result.status == 1, result.err
    said = " ".join(result.out.split())
    assert "act-call0.value is nearest to the output of act (GELU)" in said
    assert "down-call0.value" in said


def test_a_file_that_has_no_tensor_is_three_lines(written):
    (written / "a.npy").write_text("no array")
    result = diff()
    assert result.status in {2, 3}
    assert result.err.count("\n") == 3
    assert "error: B: cannot read " in result.err
    assert "--> dumps" in result.err


def test_files_are_in_the_order_of_their_numbers(tmp_path):
    for name in ("b10.npy", "b2.npy", "a.pt", "b2.txt"):
        (tmp_path / name).touch()
    assert [file.name for file in dump_files(tmp_path)] == ["a.pt", "b2.npy", "b10.npy"]
