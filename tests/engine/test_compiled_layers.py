"""`--compiled` of a command: the figures of a model that its file compiles."""

from __future__ import annotations

import pytest
import torch

import hookcli
from hookcli.errors import RequestError
from hookcli.rules.rule import COMPILED_PROBES

pytestmark = pytest.mark.slow

SOURCE = """
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)

    def forward(self, x):
        return self.down(self.act(self.up(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp, self.head = nn.LayerNorm(8), Mlp(), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(x + self.mlp(self.norm(x)))

def whole():
    return torch.compile(Net(), backend="aot_eager")

def region():
    net = Net()
    net.mlp.compile(backend="aot_eager")
    return net

def inside():
    net = Net()
    net.mlp = torch.compile(net.mlp, backend="aot_eager")
    return net

class Prints(Net):
    def forward(self, x):
        y = self.norm(x)
        print("printed")
        return self.head(self.mlp(y))

def breaks():
    return torch.compile(Prints(), backend="aot_eager")

def refuses():
    return torch.compile(Prints(), backend="aot_eager", fullgraph=True)
"""


@pytest.fixture
def run(cli, model_file):
    """Run a command of a compiled model, or another function of the file."""
    model_file(SOURCE)

    def command(name, function, *more, compiled="layers"):
        flags = ("--compiled", compiled) if compiled else ()
        return cli(name, f"model.py:{function}", "-i", "4x8", "--target", "4x3", "--loss",
                   "mse_loss", *flags, *more)  # fmt: skip

    return command


def figures(report):
    """Return the norms by kind and target."""
    found = {}
    for event in report["events"]:
        key = event["kind"], event["target"].replace("_orig_mod.", "").replace("._orig_mod", "")
        found[key] = event["values"][0]["stats"]["norm"]
    return found


def gradients(report):
    return {
        row["name"].replace("_orig_mod.", ""): row["grad"]["norm"] for row in report["parameters"]
    }


HOOKS = """
hooks:
  - {kind: forward, at: "*", do: stats}
  - {kind: tensor, at: "*:output", do: stats}
"""


@pytest.mark.parametrize("function", ["whole", "region", "inside", "breaks"])
def test_figures_are_those_of_the_model_without_the_compiler(run, tmp_path, function):
    (tmp_path / "hooks.yaml").write_text(HOOKS)
    plain = "Prints" if function == "breaks" else "Net"
    eager = run("grads", plain, "-c", "hooks.yaml", "-f", "json", compiled=None).report
    compiled = run("grads", function, "-f", "json").report
    assert figures(compiled) == pytest.approx(figures(eager), rel=1e-5)
    assert len(figures(compiled)) == 14
    assert gradients(compiled) == pytest.approx(gradients(eager), rel=1e-5)
    assert compiled["run"]["losses"] == pytest.approx(eager["run"]["losses"])
    assert compiled["run"]["compiler"]["graphs"] == (2 if function == "breaks" else 1)


def test_trace_lists_forward_before_backward_and_says_what_it_does_not_know(run):
    ran = run("trace", "whole", "--steps", "2")
    assert "Seq  Step  Phase" in ran.out
    phases = [line.split()[2] for line in ran.out.splitlines() if line[:3].strip().isdigit()]
    assert phases == (["forward"] * 7 + ["backward"] * 7) * 2
    assert "the order of backward is not observed" in ran.out


def test_inspect_has_rows_and_the_graphs(run):
    ran = run("inspect", "breaks")
    assert "graphs 2 graphs, 1 graph break, 0 recompilations" in ran.out
    assert "note: graph break at model.py:36: Failed to trace builtin operator" in ran.out
    assert "│  ├─ up (Linear)    –        [4, 16]" in ran.out
    assert "Total mult-adds" not in ran.out


def test_check_judges_what_was_looked_at(run):
    ran = run("check", "whole", "-f", "json")
    rows = {row["rule"]: row for row in ran.report["checks"]}
    assert rows["finite"]["status"] == "pass"
    assert rows["uncalled_modules"]["status"] == "skip"
    assert "omit `--compiled`" in rows["uncalled_modules"]["message"]
    judged = {name for name, row in rows.items() if row["status"] != "skip"}
    assert judged == {"finite", "hooks_fired"}
    assert "other_routes" not in COMPILED_PROBES


def test_statistics_have_more(run):
    report = run("grads", "whole", "-f", "json", compiled="statistics").report
    (event,) = [e for e in report["events"] if e["kind"] == "forward" and e["target"] == "mlp.act"]
    stats = event["values"][0]["stats"]
    assert stats["abs_max"] > abs(stats["mean"]) > 0


def test_a_model_that_is_not_compiled_is_refused(run):
    message, place, hint = run("inspect", "Net").error()
    assert message == "nothing of the model is compiled"
    assert place == "--compiled layers"
    assert "model.py:Net?compile=inductor" in hint


def test_what_the_compiler_refuses_is_one_sentence(run):
    message, place, _ = run("inspect", "refuses").error()
    assert message.startswith("Unsupported in forward: Failed to trace builtin operator: ")
    assert "Hint:" not in message
    assert place == "model.py:36"


@pytest.mark.parametrize(
    ("command", "flags", "named"),
    [
        ("inspect", ("--memory",), "--memory"),
        ("inspect", ("--no-grad",), "--no-grad"),
        ("grads", ("--verify-neutral",), "--verify-neutral"),
        ("trace", ("--kinds", "all"), "hooks cannot be attached"),
        ("trace", ("--flops",), "--flops"),
        ("trace", ("--nproc", "2"), "--nproc"),
        ("inspect", ("--columns", "layer,peak"), "--memory"),
        ("trace", ("-f", "perfetto=t.json"), "format 'perfetto'"),
        ("inspect", ("--tensors", "fake"), "--tensors fake"),
    ],
)
def test_what_needs_hooks_is_refused(run, command, flags, named):
    message, _, hint = run(command, "whole", *flags).error()
    assert message.startswith(named)
    assert "remove `--compiled`" in hint


def test_a_module_object_is_refused(tmp_path):
    (tmp_path / "hooks.yaml").write_text("run: {compiled: layers}")
    with pytest.raises(RequestError, match="a module object cannot be run compiled"):
        hookcli.grads(torch.nn.Linear(2, 2), torch.ones(1, 2), config=tmp_path / "hooks.yaml")


def test_the_configuration_has_the_key(run, tmp_path):
    (tmp_path / "hooks.yaml").write_text("run: {compiled: layers}")
    report = run("grads", "whole", "-c", "hooks.yaml", "-f", "json", compiled=None).report
    assert report["run"]["compiler"]["graphs"] == 1
