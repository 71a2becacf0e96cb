"""The recipes: each does what its comment says, worked out by hand or by plain PyTorch beside it.

UPDATE_DOCS=1 writes docs/recipes/hooks.md.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from hookcli.config.load import read_config
from hookcli.config.merge import Flags, spec_of
from hookcli.engine.attempt import Session
from hookcli.engine.losses.of_output import probe
from hookcli.engine.seeds import seed_all
from hookcli.spec.request import Attempt
from tests.conftest import ROOT, SAMPLES, run_cli
from tests.docs.generated import check_page

RECIPES = SAMPLES / "recipes"
NAMES = [path.stem for path in sorted(RECIPES.glob("*.yaml"))]
PAGE = ROOT / "docs" / "recipes" / "hooks.md"


@pytest.fixture
def recipes(tmp_path):
    """A copy, because some write files beside themselves."""
    folder = tmp_path / "sample_models"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__", "features"))
    return folder / "recipes"


@pytest.fixture
def carried_out(recipes, capsys):
    """Run a recipe in process: the report, and the lines that were printed meanwhile."""

    def run(name, command="trace"):
        spec = spec_of(command, read_config(str(recipes / f"{name}.yaml")), Flags())
        report = Session(spec, Attempt("real"), lambda *_: None).run().report
        assert report.status == "complete", report.error
        printed = capsys.readouterr()
        return report, (printed.err + printed.out).splitlines()

    return run


def fired(report):
    return [(event.kind, event.target) for event in report.events]


def grads(report):
    return {row.name: SimpleNamespace(**row.grad) for row in report.parameters}


def of_plain_pytorch(path, name, clip=None):
    """The gradients of a sample in train mode, of the loss that hookcli takes; never its hooks."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    seed_all(0)
    spec.loader.exec_module(module)
    seed_all(0)
    model = getattr(module, name)().train()
    seed_all(0)
    batch = module.example_inputs()
    for parameter in model.parameters() if clip is not None else ():
        parameter.register_hook(clip)
    seed_all(0)
    output = model(*batch)
    probe(output, lambda _: None, seed=0, values=True).backward()
    return {name: p.grad for name, p in model.named_parameters()}


def test_the_gradient_of_a_tensor_is_doubled(carried_out):
    report, printed = carried_out("double_gradient")
    assert printed == [
        "[0] backward tensor weight float32[3] = [1, 2, 3]",
        "[0] backward tensor weight float32[3] = [2, 4, 6]",
    ]
    assert fired(report) == [("tensor", "weight")]
    assert report.events[0].changed == pytest.approx(14**0.5)
    grad = grads(report)["weight"]
    assert (grad.min, grad.mean, grad.max) == (2, 4, 6)


def test_every_parameters_gradient_is_clipped_as_in_plain_pytorch(carried_out):
    def clip(grad):
        return grad * min(1.0, 0.1 / (float(grad.norm()) + 1e-6))

    bare = of_plain_pytorch(SAMPLES / "unet.py", "UNet")
    assert 0 < sum(float(grad.norm()) > 0.1 for grad in bare.values()) < len(bare)
    expected = of_plain_pytorch(SAMPLES / "unet.py", "UNet", clip)
    report, _ = carried_out("clip_gradients", "grads")
    found = grads(report)
    assert list(found) == list(expected)
    for name, grad in expected.items():
        assert found[name].norm == pytest.approx(float(grad.norm()), rel=1e-4)
        assert found[name].norm <= 0.1
    changed = {event.target: event.changed > 1e-6 for event in report.events}
    assert changed == {name: float(grad.norm()) > 0.1 for name, grad in bare.items()}


def test_each_layer_is_printed_as_it_runs(carried_out):
    report, printed = carried_out("verbose")
    assert len(printed) == len(report.events) == 43
    assert printed[0].startswith("[0] forward forward down.0.0 float32[2, 8, 16, 16] norm=")
    assert [line.split()[3] for line in printed[-4:]] == ["up.1.conv", "up.1", "head", "(root)"]
    assert [line for line in printed if " call 1 " in line] == [printed[15]]
    assert printed[15].startswith("[15] forward forward pool call 1 float32[2, 16, 4, 4] norm=")


def test_the_feature_maps_of_two_layers_are_saved(carried_out, recipes):
    report, _ = carried_out("feature_maps")
    assert fired(report) == [("forward", "down.0"), ("forward", "bottom")]
    files = sorted((recipes / "features").iterdir())
    assert [file.name for file in files] == [
        "0000000-forward-forward-down.0-call0.safetensors",
        "0000001-forward-forward-bottom-call0.safetensors",
    ]
    saved = [load_file(file)["value"] for file in files]
    assert [list(value.shape) for value in saved] == [[2, 8, 16, 16], [2, 32, 4, 4]]
    for value, event in zip(saved, report.events, strict=True):
        assert float(value.norm()) == pytest.approx(event.values[0].stats["norm"], rel=1e-4)


def test_what_lies_before_a_zeroed_input_gradient_learns_nothing(carried_out):
    report, _ = carried_out("zero_input_gradient", "grads")
    found = grads(report)
    assert {row.name: row.status for row in report.parameters} == {
        "first.weight": "zero", "second.weight": "ok",
    }  # fmt: skip
    assert (found["second.weight"].min, found["second.weight"].max) == (3, 3)
    assert report.events[0].changed == pytest.approx(8**0.5)  # the gradient was [2 2]


def test_accumulate_grad_fires_as_horovods_hook_does(carried_out):
    report, printed = carried_out("horovod")
    names = ["second.weight", "first.weight"]
    assert fired(report) == [("accumulate_grad", name) for name in names]
    assert printed == [f"{name}: all-reduce of 4 values starts" for name in names]
    expected = []
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    nodes = {}
    for i in (0, 1):
        nodes[i] = model[i].weight.expand_as(model[i].weight).grad_fn.next_functions[0][0]
        nodes[i].register_hook(lambda *_, i=i: expected.append(names[1 - i]))
    model(torch.ones(1, 2)).sum().backward()
    assert expected == names


def test_several_hooks_on_a_tensor_run_in_the_order_of_their_definition(carried_out):
    report, printed = carried_out("several_hooks")
    assert [line.partition(" = ")[2] for line in printed] == [
        "[2, 4, 6]",
        "[3, 5, 7]",
        "[30, 50, 70]",
    ]
    assert [event.hook for event in report.events] == [0, 1, 2]
    grad = grads(report)["weight"]
    assert (grad.min, grad.mean, grad.max) == (30, 50, 70)


def test_a_hook_on_an_intermediate_acts_on_the_leaf_before_it(carried_out):
    report, printed = carried_out("leaf_and_intermediate")
    assert fired(report) == [("tensor", "twice:output"), ("tensor", "weight")]
    assert [line.partition(" = ")[2] for line in printed] == ["[3, 3, 3]", "[60, 60, 60]"]
    grad = grads(report)["weight"]
    assert (grad.min, grad.max) == (61, 61)


def test_the_rest_of_the_model_goes_on_with_a_replaced_output(carried_out):
    report, printed = carried_out("replace_output")
    assert fired(report) == [("forward", "first"), ("forward_pre", "second"), ("forward", "")]
    values = ["[[3, 3]]", "[[100, 100]]", "[[200, 200]]"]
    assert [line.partition(" = ")[2] for line in printed] == values


def test_a_reversed_gradient_is_reversed_before_the_hook_alone(carried_out):
    report, _ = carried_out("gradient_reversal", "grads")
    found = grads(report)
    first, second = found["first.weight"], found["second.weight"]
    assert (first.min, first.mean, first.max) == (-4, -3, -2)
    assert (second.min, second.max) == (3, 3)


def test_an_edit_in_place_of_a_shared_gradient_is_caught_and_explained(carried_out):
    report, printed = carried_out("in_place_trap")
    assert [line.partition(" = ")[2] for line in printed] == ["[1, 1, 1]", "[2, 2, 2]"]
    assert {name: grad.max for name, grad in grads(report).items()} == {"a": 2, "b": 2}
    (finding,) = [check for check in report.checks if check.rule == "hook_misuse"]
    assert (finding.target, finding.status, finding.severity) == ("d:output", "fail", "error")
    assert "in place instead of returning a new value" in finding.message
    assert "other gradients that share it may have changed too" in finding.message
    line = (RECIPES / "in_place_trap.yaml").read_text().splitlines().index(
        '  - {kind: tensor, at: "d:output", do: [print, {call: "functions.py:double_in_place"}]}'
    )  # fmt: skip
    assert finding.place.endswith(f"in_place_trap.yaml:{line + 1}: hooks[0]")


def test_compressed_gradients_cost_exactness_and_save_bytes(recipes):
    # carried_out("compressed_gradients") would be one process: it takes two
    config = recipes / "compressed_gradients.yaml"
    report = run_cli("check", "-c", config, "-f", "json").report
    buckets = report["distributed"]["buckets"]
    errors = [[row["error"] for row in buckets if row["step"] == step] for step in range(3)]
    assert max(errors[0] + errors[1]) < 1e-6
    assert 0.01 < min(errors[2]) < max(errors[2]) < 0.95
    last = [row for row in buckets if row["step"] == 2]
    sent, plain = (sum(row[key] for row in last) for key in ("wire_bytes", "plain_bytes"))
    assert 0.01 < sent / plain < 0.3
    judged = {row["rule"]: row["status"] for row in report["checks"]}
    assert {"ranks_agree", "comm_hook_error", "buckets"} <= {r for r, s in judged.items()
                                                            if s == "pass"}  # fmt: skip
    assert any("power_sgd sends from callbacks" in text for text in report["warnings"])


def test_every_recipe_is_held_to_its_outcome():
    source = (ROOT / "tests" / "test_recipes.py").read_text()
    assert [name for name in NAMES if f'carried_out("{name}"' not in source] == []


def command(name):
    return re.search(r"^#     (hookcli .*)$", (RECIPES / f"{name}.yaml").read_text(), re.M)[1]


@pytest.mark.slow  # a process each
@pytest.mark.parametrize("name", NAMES)
def test_the_command_in_the_comment_runs(name, recipes):
    words = shlex.split(command(name))
    assert words[0] == "hookcli"
    result = run_cli(*words[1:], cwd=recipes.parent.parent)
    assert result.status == 0, result.err
    assert "partial" not in result.out
    assert ("hook_misuse" in result.out) == (name == "in_place_trap")


def fenced(text):
    """A comment's text as Markdown: its indented lines in fences, a command as in a console."""

    def fence(match):
        code = match[0].strip()
        if code.startswith("hookcli "):
            return f"```console\n$ {code}\n```"
        return f"```python\n{code}\n```"

    return re.sub(r"^    .*$", fence, text, flags=re.M)


def page():
    """Return docs/recipes/hooks.md as the files define it."""
    parts = [
        "# Recipes\n\n<!-- Generated from sample_models/recipes/ by tests/test_recipes.py. -->\n\n"
        "Common uses of hooks, as configurations that you can run and change.\n"
    ]
    for name in NAMES:
        text = (RECIPES / f"{name}.yaml").read_text()
        comment, _, body = text.partition("\n\n")
        lines = [line.removeprefix("#").removeprefix(" ") for line in comment.splitlines()]
        words = fenced("\n".join(lines))
        parts.append(f"## {name.replace('_', ' ').capitalize()}\n\n{words}\n")
        parts.append(f"`{name}.yaml`\n\n```yaml\n{body}```\n")
    for file, what in (("small.py", "The models"), ("functions.py", "The hook functions")):
        parts.append(f"## {what}\n\n`{file}`\n\n```python\n{(RECIPES / file).read_text()}```\n")
    return "\n".join(parts)


def test_the_page_shows_the_recipes_as_they_are():
    check_page(PAGE, page())
