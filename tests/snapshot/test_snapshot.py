"""A snapshot holds today, reads well, and tells what changed later, from what to what."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.conftest import SAMPLES
from tests.snapshot.making import Taken

NET = """
example_inputs = torch.linspace(-1, 1, 2 * 3 * 8 * 8).view(2, 3, 8, 8)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 32)
        self.down = nn.Linear(32, width)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(self.up(h).relu())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 2, stride=2)
        self.blocks = nn.ModuleList([Block(16) for _ in range(12)])
        self.head = nn.Linear(16, 10)
        self.spare = nn.Linear(4, 4)
        self.stem.requires_grad_(False)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))
"""


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    return Taken(tmp_path_factory.mktemp("net"), NET)


def test_the_file_says_what_a_reviewer_wants_to_know(taken):
    for line in (
        "# Checks that Net passes. `hookcli check -c checks.yaml` reports what has changed.",
        "# Batch: float32 [2, 3, 8, 8] (declared)",
        "model: net.py",
        "run: {mode: train, seed: 0}",
        "  - {rule: uncalled_modules, severity: error}",
        "  # The inputs and outputs of the model. B is the number of samples.",
        "  - {rule: input_shape, path: '[0]', shape: [B, 3, 8, 8]}",
        "  - {rule: output_shape, shape: [B, 10]}",
        "  - {rule: output_shape, at: blocks.*.up, shape: [B, 16, 32]}",
        '  - {rule: output_shape, at: "blocks.[0-9]", shape: [B, 16, 16]}'.replace('"', "'"),
        "  - {rule: dtype, part: parameter, dtype: float32}",
        "  - {rule: firing_order, within: '', order: [stem, 'blocks.{0..11}', head], match: exact}",
        "  - {rule: budget, at: spare, parameters: 20, exact: true}",
        "  - {rule: trainable, at: [blocks.*, head.*]}",
        "  - {rule: frozen, at: stem.*}",
        "suppress:",
        "  - {rule: uncalled_modules, at: spare, reason: never ran when the snapshot was taken}",
    ):
        assert line in taken.text.splitlines(), taken.text
    assert max(map(len, taken.text.splitlines())) <= 100
    assert len(taken.text.splitlines()) < 100


def test_it_passes_today_and_says_nothing_of_warnings(taken):
    done = taken.check()
    assert done.status == 0, done.out
    assert re.fullmatch(r"PASSED: 2 skipped, [0-9]+ passed", done.out.splitlines()[-1])


# What is changed, and the sentence that a reviewer reads.
CHANGES = [
    ([("nn.Linear(16, 10)", "nn.Linear(16, 9)")],
     "output of the model (Net) has shape [2, 9]: dimension 1 is 9, "
     "expected 10"),
    ([("nn.Linear(16, 10)", "nn.Linear(16, 9)")],
     "153 parameters in head, expected 170 (17 fewer)"),
    ([("nn.Linear(width, 32)", "nn.Linear(width, 48)"),
      ("nn.Linear(32, width)", "nn.Linear(48, width)")],
     "output of blocks.0.up (Linear) has shape "
     "[2, 16, 48]: dimension 2 is 48, expected 32; also"),
    ([("range(12)", "range(13)")],
     "in the model (Net), position 13 is blocks.12, expected head, "
     "which is at position 14"),
    ([("h = self.norm(x)", "h = x"),
      ("return x + self.down(self.up(h).relu())", "return self.norm(x + self.down(self.up(h)))")],
     "in blocks.0 (Block), position 0 is up, "
     "expected norm, which is at position 2"),
    ([("self.stem.requires_grad_(False)", "pass")],
     "stem.weight changed in a step"),
    ([("self.stem.requires_grad_(False)", "self.requires_grad_(False)\n"
       "        self.head.requires_grad_(True)")],
     "blocks.0.norm.weight is frozen: requires_grad is False; also"),
    ([("self.stem.requires_grad_(False)",
       "self.stem.requires_grad_(False)\n        self.double()"),
      ("x = self.stem(x)", "x = self.stem(x.double())")],
     "output of head (Linear) is float64, expected float32"),
    ([("self.spare = nn.Linear(4, 4)", "self.spare = nn.Linear(4, 4)\n"
       "        self.extra = nn.Linear(2, 2)")],
     "Linear never ran, but has parameters"),
    ([("self.head(x.mean(1))", "self.head(x.mean(1)) + 0 * self.spare(x[:, 0, :4]).sum()")],
     "unused suppression of uncalled_modules at 'spare': "
     "remove it"),
    ([("self.head(x.mean(1))", "self.head(x.mean(1)).log()")],
     "NaN first appears in the model (Net)"),
    ([("self.head(x.mean(1))", "self.head(x.mean(1) - x.mean((0, 1)))")],
     "fail batch_independent"),
    ([("nn.Conv2d(3, 16, 2, stride=2)", "nn.Conv2d(3, 16, 3, stride=2, padding=1)")],
     "448 parameters in stem, expected 208 (240 more)"),
    ([("self.stem(x).flatten(2)", "self.stem(x.repeat(1, 1, 2, 2)).flatten(2)")],
     "FLOPs in a forward exceed the limit of"),
    ([("            x = block(x)", "            x = block(x.detach())")],
     "`detach` at net.py:"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), CHANGES, ids=range(len(CHANGES)))
def test_a_change_is_told_from_what_to_what(changes, said, taken):
    done = taken.check(*changes)
    flat = " ".join(done.out.split())
    assert said in flat, done.out
    assert done.status == 1, done.out
    assert "not judged" not in done.out


def test_a_layer_that_is_gone_is_told_where_it_ran(taken):
    done = taken.check(
        ("        self.head = nn.Linear(16, 10)\n", ""),
        ("return self.head(x.mean(1))", "return x.mean(1)"),
    )
    assert done.status == 3
    flat = " ".join(done.out.split())
    assert "in the model (Net), head is missing: the run has only 13 names" in flat
    assert "no module that ran matches 'head'" in flat


def test_findings_have_their_place_in_the_source(taken):
    done = taken.check(("nn.Linear(16, 10)", "nn.Linear(16, 9)"))
    line = 1 + taken.source.splitlines().index("        return self.head(x.mean(1))")
    assert f"--> net.py:{line}" in done.out or f"net.py:{line}" in done.out


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_every_sample_passes_its_own_snapshot(path, cli, tmp_path):
    shutil.copy(path, tmp_path)
    done = cli("snapshot", path.name, "-o", "checks.yaml")
    assert done.status == 0, done.err
    text = (tmp_path / "checks.yaml").read_text()
    assert "output_shape" in text
    assert "firing_order" in text
    assert max(map(len, text.splitlines())) <= 100
    done = cli("check", "-c", "checks.yaml", "--fail-on", "warning")
    assert done.status == 0, done.out
    assert done.out.splitlines()[-1].startswith("PASSED: ")
