"""`hookcli snapshot` as a user runs it: files, flags, sources of each kind, hostile names."""

from __future__ import annotations

import pytest
import torch
import yaml
from torch import nn

from tests.conftest import HEAD, SAMPLES

NET = """
class Net(nn.Module):
    def __init__(self, width=4, depth=1):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))
    def forward(self, x, scale=1.0):
        return self.layers(x) * scale
def loss(output):
    return output.square().mean()
def batch():
    return torch.ones(2, 6, dtype=torch.float64)
"""


@pytest.fixture
def net(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + NET)
    return "net.py:Net"


def passes(cli, file="checks.yaml", *flags):
    done = cli("check", "-c", file, "--fail-on", "warning", *flags)
    assert done.status == 0, done.out + done.err
    return done


def test_without_a_file_it_goes_to_stdout_and_nothing_else_does(cli, net):
    done = cli("snapshot", net, "-i", "2x4")
    assert done.status == 0
    assert done.out.startswith("# Checks that Net passes. `hookcli check -c THIS_FILE` reports")
    assert yaml.safe_load(done.out)["model"] == "net.py:Net"
    assert done.err.startswith("note: the snapshot contains ")


def test_a_file_that_is_there_is_not_replaced_unless_told(cli, net, tmp_path):
    file = tmp_path / "checks.yaml"
    file.write_text("mine")
    done = cli("snapshot", net, "-i", "2x4", "-o", "checks.yaml")
    assert done.status == 2
    assert done.error() == (
        "checks.yaml already exists", "-o checks.yaml",
        "choose another file, or add `--force` to overwrite this one",
    )  # fmt: skip
    assert file.read_text() == "mine"
    assert cli("snapshot", net, "-i", "2x4", "-o", "checks.yaml", "--force").status == 0
    passes(cli)
    done = cli("snapshot", "-c", "checks.yaml", "-o", "checks.yaml", "--force")
    assert done.status == 2
    assert "it is the same file as checks.yaml, which the command reads" in done.error()[0]


def test_a_run_that_fails_writes_nothing(cli, net, tmp_path):
    done = cli("snapshot", net, "-i", "2x5", "-o", "checks.yaml")
    assert done.status == 3
    assert done.error()[0].startswith("RuntimeError in forward")
    assert not (tmp_path / "checks.yaml").exists()


def test_all_flags_of_the_run_are_kept(cli, net, tmp_path):
    weights = nn.Linear(6, 6).state_dict()
    torch.save({f"layers.{i}.{k}": v for i in range(3) for k, v in weights.items()},
               tmp_path / "w.pt")  # fmt: skip
    (tmp_path / "sub").mkdir()
    done = cli(
        "snapshot", net, "--arg", "width=6", "--arg", "depth=3", "--weights", "w.pt",
        "-i", "net.py:batch", "-i", "scale=value:2.0", "--seed", "7", "--mode", "eval",
        "--loss", "net.py:loss", "--dtype", "float64", "--steps", "2", "-o", "sub/checks.yaml",
    )  # fmt: skip
    assert done.status == 0, done.err
    found = yaml.safe_load((tmp_path / "sub" / "checks.yaml").read_text())
    assert found["model"] == {
        "source": "../net.py:Net", "args": {"width": 6, "depth": 3}, "weights": "../w.pt",
    }  # fmt: skip
    assert found["inputs"] == ["../net.py:batch", "scale=value:2.0"]
    assert found["run"] == {
        "mode": "eval", "seed": 7, "loss": "../net.py:loss", "steps": 2, "dtype": "float64",
    }  # fmt: skip
    report = cli("check", "-c", "sub/checks.yaml", "-f", "json").report
    assert report["run"]["seed"] == 7
    assert report["run"]["steps"] == 2
    assert report["inputs"]["args"][0] == {"shape": [2, 6], "dtype": "float64"}
    passes(cli, "sub/checks.yaml")


def test_ranks_are_kept(cli, tmp_path):
    done = cli("snapshot", SAMPLES / "vae.py", "--nproc", "2", "-o", "checks.yaml")
    assert done.status == 0, done.err
    found = yaml.safe_load((tmp_path / "checks.yaml").read_text())
    assert found["run"]["distributed"] == {"nproc": 2}
    assert cli("check", "-c", "checks.yaml", "-f", "json").report["run"]["world_size"] == 2


def test_arguments_by_position_and_by_name_cannot_be_kept(cli, net):
    done = cli("snapshot", net, "--arg", "6", "--arg", "depth=3", "-i", "2x6")
    assert done.status == 2
    assert done.error()[0] == ("a snapshot cannot contain arguments both by position and by name")


def test_a_configuration_is_extended(cli, net, tmp_path):
    (tmp_path / "hooks.yaml").write_text(
        "model: {source: net.py:Net, args: {width: 6}}\n"
        "inputs: [2x6]\n"
        "hooks: [{kind: forward, at: layers.0, do: record}]\n"
        "suppress: [{rule: uncalled_modules, at: gone, reason: old}]\n"
    )
    (tmp_path / "sub").mkdir()
    assert cli("snapshot", "-c", "hooks.yaml", "--arg", "depth=2", "-o", "sub/c.yaml").status == 0
    text = (tmp_path / "sub" / "c.yaml").read_text()
    assert yaml.safe_load(text)["extends"] == "../hooks.yaml"
    report = cli("check", "-c", "sub/c.yaml", "-f", "json").report
    assert [row["name"] for row in report["layers"]] == ["", "layers", "layers.0", "layers.1"]
    assert {row["status"] for row in report["checks"]} <= {"pass", "skip", "fail"}
    bad = [row["rule"] for row in report["checks"] if row["status"] == "fail"]
    assert bad == ["unused_suppression"]  # the base's own
    done = cli("snapshot", "net.py", "-c", "hooks.yaml")
    assert done.status == 2
    assert done.error()[0].startswith("the configuration has arguments or weights for another")


def test_a_model_that_needs_trust_says_so_in_the_file(cli, tmp_path):
    torch.save(nn.Sequential(nn.Linear(4, 2)), tmp_path / "whole.pt")
    assert cli("snapshot", "whole.pt", "-i", "2x4").status == 2
    assert cli("snapshot", "whole.pt", "-i", "2x4", "--trust", "-o", "checks.yaml").status == 0
    text = (tmp_path / "checks.yaml").read_text()
    assert "hookcli check -c checks.yaml --trust` reports" in text
    assert cli("check", "-c", "checks.yaml").status == 2
    passes(cli, "checks.yaml", "--trust")


@pytest.mark.parametrize("kind", ["torchscript", "exported"])
def test_archives_have_snapshots_too(kind, cli, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    name = "m.ts" if kind == "torchscript" else "m.pt2"
    if kind == "torchscript":
        torch.jit.script(model).save(tmp_path / name)
    else:
        dynamic = ({0: torch.export.Dim("n", min=2)},)
        torch.export.save(
            torch.export.export(model, (torch.ones(2, 4),), dynamic_shapes=dynamic), tmp_path / name
        )
    assert cli("snapshot", name, "-i", "2x4", "-o", "checks.yaml", "--data-only").status == 0
    text = (tmp_path / "checks.yaml").read_text()
    assert "at: '[0-1]', shape: [B, 8]" in text, text
    assert "order: ['{0..2}']" in text
    passes(cli)


def test_names_cannot_act_on_the_file(cli, tmp_path, model_file):
    names = ["a*b", "[x]", "{0..3}", "q?", "t\x1b[31m", "\u202ebidi", "::error::", "a b", "no", "1",
             "#", "é", "x: y", "'", '"', "-", "|", "<b>", "a\nb", "%s", "\U0001f600"]  # fmt: skip
    path = model_file(
        "example_inputs = torch.ones(2, 4)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        f"        self.names = {names!r}\n"
        "        for name in self.names:\n"
        "            self._modules[name] = nn.Linear(4, 4)\n"
        "    def forward(self, x):\n"
        "        for name in self.names:\n"
        "            x = self._modules[name](x)\n"
        "        return x\n"
    )
    assert cli("snapshot", path, "-o", "checks.yaml").status == 0
    text = (tmp_path / "checks.yaml").read_text()
    assert "\x1b" not in text
    assert "\u202e" not in text
    passes(cli)
    path.write_text(path.read_text().replace("4)", "5)").replace("(4,", "(5,"))
    done = cli("check", "-c", "checks.yaml", "-f", "json").report
    told = {row["target"] for row in done["checks"] if row["rule"] == "output_shape"}
    assert set(names) <= told


def test_what_fails_today_is_suppressed_and_said(cli, model_file, tmp_path):
    path = model_file(
        "example_inputs = torch.zeros(2, 4)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(4, 4)\n"
        "    def forward(self, x):\n"
        "        return self.fc(x) + x.log() - x.log()\n"
    )
    done = cli("snapshot", path, "-o", "checks.yaml")
    assert done.status == 0
    assert (
        "note: a check fails today and is suppressed in the file: finite, the model: " in done.err
    )
    assert "fix it and remove this suppression" in (tmp_path / "checks.yaml").read_text()
    passes(cli)


def test_a_model_of_two_thousand_modules_has_a_readable_file(cli, tmp_path, model_file):
    path = model_file(
        "example_inputs = torch.arange(8.0).view(2, 4)\n"
        "class Block(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.parts = nn.ModuleList(nn.Identity() for _ in range(8))\n"
        "        self.fc = nn.Linear(4, 4)\n"
        "    def forward(self, x):\n"
        "        for part in self.parts:\n"
        "            x = part(x)\n"
        "        return x + 0.01 * self.fc(x)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.blocks = nn.ModuleList(Block() for _ in range(200))\n"
        "    def forward(self, x):\n"
        "        for block in self.blocks:\n"
        "            x = block(x)\n"
        "        return x\n"
    )
    assert cli("snapshot", path, "-o", "checks.yaml").status == 0
    text = (tmp_path / "checks.yaml").read_text()
    assert len(text.splitlines()) < 66, text
    assert "order: ['blocks.{0..199}']" in text
    assert "at: blocks.*.fc, shape: [B, 4]" in text
    passes(cli)


def test_two_snapshots_are_the_same_byte_by_byte(cli):
    one, other = (cli("snapshot", SAMPLES / "moe.py").out for _ in range(2))
    assert one == other != ""


def test_depth_says_how_deep(cli):
    flat = cli("snapshot", SAMPLES / "tiny_gpt.py", "--depth", "0").out
    deep = cli("snapshot", SAMPLES / "tiny_gpt.py", "--depth", "9").out
    assert "The outputs of the layers" not in flat
    assert len(deep.splitlines()) > len(flat.splitlines())
    assert "Down to depth" not in deep
