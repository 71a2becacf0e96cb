"""`hookcli.check`: live modules and named ones, judged as the command judges them."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import hookcli
from hookcli.api import by_name
from hookcli.errors import BugError, ModelError, ProblemsError, RequestError
from tests.conftest import HEAD, SAMPLES
from tests.rules import models
from tests.rules.test_safe_set import FAULTS, LOOKALIKES

X = torch.linspace(-2, 2, 8).view(2, 4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 10, bias=False)  # a bias before a norm gets zeros
        self.norm = nn.BatchNorm1d(10)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(self.fc(x)))


def rules(report, status="fail"):
    return [(row.rule, row.target) for row in report.checks if row.status == status]


def test_a_healthy_module_passes_the_safe_set():
    report = hookcli.check(Net(), inputs=X)
    assert report.passed
    assert report.findings == ()
    assert report.command == "check"
    assert {row.rule for row in report.checks} == {
        "finite", "grad_exists", "uncalled_modules", "deterministic", "batch_independent",
        "hooks_fired",
    }  # fmt: skip
    assert str(report).splitlines()[-1] == "PASSED: 6 passed"


@pytest.mark.parametrize(("name", "rule", "target"), FAULTS)
def test_a_planted_fault_is_caught_in_a_live_module(name, rule, target):
    report = hookcli.check(getattr(models, name)(), inputs=models.example_inputs)
    assert (rule, target) in rules(report)
    assert report.message().splitlines()[0].startswith(f"{name}: ")


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_a_fault_is_none_in_a_live_module(name):
    torch.manual_seed(0)  # as `hookcli check` builds a model
    kind = getattr(models, name)
    inputs = getattr(kind, "example_inputs", models.example_inputs)
    found = {rule for rule, _ in rules(hookcli.check(kind(), inputs=inputs))}
    assert found <= {"linear_after_linear"}  # some of these models have no activation


def state(model):
    return {
        "state": {k: v.clone() for k, v in model.state_dict().items()},
        "grads": [None if p.grad is None else p.grad.clone() for p in model.parameters()],
        "modes": [m.training for m in model.modules()],
        "hooks": [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()],
        "frozen": [p.requires_grad for p in model.parameters()],
        "random": torch.get_rng_state(),
    }


@pytest.mark.parametrize("training", [True, False])
def test_the_module_is_afterwards_what_it_was(training):
    model = Net().train(training)
    model(X).sum().backward()
    model.norm.eval()
    before = copy.deepcopy(state(model))
    checks = [
        {"rule": "trainable", "at": "fc.*"}, {"rule": "deterministic", "modes": ["eval", "train"]},
        {"rule": "budget", "flops": 1e6},
    ]  # fmt: skip
    hookcli.check(model, checks, inputs=X, steps=2)
    after = state(model)
    for key in ("modes", "hooks", "frozen"):
        assert after[key] == before[key]
    assert torch.equal(after["random"], before["random"])
    assert all(torch.equal(after["state"][k], v) for k, v in before["state"].items())
    assert all(torch.equal(a, b) for a, b in zip(after["grads"], before["grads"], strict=True))


def test_checks_are_given_as_data():
    checks = ["hook_misuse", {"rule": "output_shape", "shape": ("B", 9)}]
    report = hookcli.check(Net(), checks, inputs=X)
    assert not report.passed
    assert rules(report) == [("output_shape", "")]
    assert report.message() == (
        "Net: FAILED: 1 failed, 7 passed\n"
        "\n"
        "fail: output_shape, the model: output of the model (Net) has shape [2, 10]: dimension 1 "
        f"is 10, expected 9\n  --> {report.findings[0].place}"
    )


def test_a_place_of_a_live_module_is_its_line():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(x)

    report = hookcli.check(Twice(), [{"rule": "output_shape", "at": "fc", "shape": [2, 5]}],
                           inputs=X)  # fmt: skip
    (row,) = report.findings
    file, _, line = row.place.rpartition(":")
    source = Path(__file__).read_text().splitlines()
    assert source[int(line) - 1].strip() == "return self.fc(x)"
    assert file.endswith("test_check.py")


def test_a_configuration_gives_inputs_suppressions_and_the_level(tmp_path):
    file = tmp_path / "checks.yaml"
    file.write_text(
        "inputs: ['3x4']\nfail_on: warning\nsuppress: [{rule: finite, at: gone, reason: none}]\n"
    )
    report = hookcli.check(Net(), file)
    assert report.inputs.args == ({"shape": (3, 4), "dtype": "float32"},)
    assert rules(report) == [("unused_suppression", "gone")]
    assert not report.passed
    assert hookcli.check(Net(), file, fail_on="error").passed
    assert hookcli.check(Net(), file, fail_on="never").passed


def test_rules_are_picked_by_name():
    model = models.UnusedHead()
    report = hookcli.check(model, inputs=models.example_inputs, rules=["finite", "hook_misuse"])
    assert [row.rule for row in report.checks] == ["finite", "hook_misuse"]
    probes = {one.probe for one in report.measurements}
    assert {"repeat_eval", "samples"}.isdisjoint(probes)
    assert {"values_read", "passes"} <= probes
    with pytest.raises(RequestError, match="unknown rule 'finit'"):
        hookcli.check(model, rules=["finit"])
    with pytest.raises(RequestError, match="rule 'output_shape' requires shape"):
        hookcli.check(model, rules=["output_shape"])


def test_a_loss_is_a_function_also_where_the_model_runs_again():
    seen = []

    def loss(output):
        seen.append(output.shape)
        return output[:, :1].sum()

    checks = [{"rule": "trainable", "at": "*"}]
    report = hookcli.check(nn.Sequential(nn.Linear(4, 2)), checks, inputs=X, loss=loss)
    assert len(seen) == 2
    assert report.passed


def test_a_model_that_raises_is_told():
    class Raises(nn.Module):
        def forward(self, x):
            raise ValueError("not today")

    report = hookcli.check(Raises(), inputs=X)
    assert not report.passed
    assert "error: ValueError in forward" in report.message()
    assert "not today" in report.message()


def test_what_is_wrong_with_a_configuration_is_said_with_its_place():
    with pytest.raises(ProblemsError) as raised:
        hookcli.check(Net(), [{"rule": "finit"}, {"rule": "budget", "flops": "many"}], inputs=X)
    assert [one.place for one in raised.value.problems][1].startswith("checks:1: checks[1].flops")
    with pytest.raises(RequestError, match="declares no input"):
        hookcli.check(Net())
    with pytest.raises(RequestError, match=r"expected an nn\.Module, got type"):
        hookcli.check(Net, inputs=X)


def test_a_report_is_held_against_a_saved_one(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 2))
    (tmp_path / "then.json").write_text(hookcli.check(model, inputs=X).to_json())
    check = {"rule": "same_as", "report": str(tmp_path / "then.json")}
    assert hookcli.check(model, [check], inputs=X).passed
    with torch.no_grad():
        model[0].weight.mul_(2)
    assert ("same_as", "0.weight") in rules(hookcli.check(model, [check], inputs=X))


def test_scripted_modules_are_judged_too():
    model = torch.jit.script(nn.Sequential(nn.Linear(4, 2), nn.Tanh()))
    report = hookcli.check(model, [{"rule": "output_shape", "at": "0", "shape": ["B", 3]}],
                           inputs=X)  # fmt: skip
    assert rules(report) == [("output_shape", "0")]


def test_a_model_by_name_runs_in_a_process_of_its_own(tmp_path):
    (tmp_path / "net.py").write_text(
        HEAD + "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(4, 2)\n"
        "    def forward(self, x):\n"
        "        print('noise')\n"
        "        return self.fc(x)\n"
    )
    source = f"{tmp_path / 'net.py'}:Net"
    checks = [{"rule": "output_shape", "shape": ["B", 3]}]
    report = hookcli.check(source, checks, inputs="5x4", seed=torch.tensor(3), mode="eval")
    assert rules(report) == [("output_shape", "")]
    assert (report.run.seed, report.run.mode) == (3, "eval")
    assert report.inputs.args[0]["shape"] == (5, 4)
    assert hookcli.check(source, checks, rules=["finite"]).passed
    assert hookcli.check(str(SAMPLES / "tiny_gpt.py")).passed


def test_the_kind_of_an_error_does_not_depend_on_the_status_of_a_process(monkeypatch):
    monkeypatch.setattr(by_name, "run_python", lambda *_, **__: SimpleNamespace(**ANSWER))
    with pytest.raises(ModelError, match="it fails") as raised:
        hookcli.check("any.py")
    assert (raised.value.place, raised.value.hint) == ("any.py:1", "mend it")
    assert "exit status" not in raised.value.details
    monkeypatch.setitem(ANSWER, "stderr", "noise\n")
    with pytest.raises(BugError, match="hookcli check ended early"):
        hookcli.check("any.py")


# With the status that a process has where SIGCHLD is ignored.
ANSWER = {
    "returncode": 0,
    "stdout": "",
    "stderr": "noise\nerror: it fails\n  --> any.py:1\nhint: mend it\n\nhookcli: exit status 3\n",
}


def test_what_cannot_be_done_with_a_model_by_name_is_said(tmp_path):
    sample = str(SAMPLES / "tiny_gpt.py")
    with pytest.raises(RequestError, match="inputs must be strings"):
        hookcli.check(sample, inputs=X)
    with pytest.raises(RequestError, match="loss must be a string"):
        hookcli.check(sample, loss=lambda output: output.sum())
    with pytest.raises(RequestError) as raised:
        hookcli.check("no_such.py")
    assert raised.value.hint
    (tmp_path / "bad.py").write_text("import nothing_there\n")
    with pytest.raises(ModelError, match="nothing_there"):
        hookcli.check(str(tmp_path / "bad.py"))


@pytest.mark.parametrize(
    "check",
    [
        {"rule": "parallel_equal", "plan": "plan.py:apply", "mesh": "tp:2"},
        {"rule": "compile_equal", "backend": "eager"},
    ],
)
def test_a_rule_that_starts_processes_is_refused_for_a_module_in_memory(
    check, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.py").write_text("def apply(model, mesh): return model\n")
    with pytest.raises(RequestError) as caught:
        hookcli.check(Net(), ["finite", check], inputs=X)
    error = caught.value
    assert error.message == f"rule {check['rule']} starts processes, and requires a model by name"
    assert error.place == "checks:1: checks[1]" and error.hint.startswith("pass a string such as")
    assert hookcli.check(Net(), ["finite", check], inputs=X, rules=["finite"]).passed


def test_paths_of_a_list_of_checks_are_relative_to_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.py").touch()
    (tmp_path / "x.npy").touch()
    (tmp_path / "finite").touch()
    names = ["plan.py:apply", "x.npy", "finite", "missing.py:apply", "package.plan:apply", "a\0.py"]
    document = {"checks": [{"rule": "finite", "names": names}], "run": {"steps": 2}}
    found = by_name._with_paths(document)
    assert found["run"] == {"steps": 2}
    assert found["checks"][0]["names"] == [
        f"{tmp_path}/plan.py:apply", f"{tmp_path}/x.npy", *names[2:]
    ]  # fmt: skip
