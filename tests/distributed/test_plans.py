"""A parallel plan beside its model: what is equal, what is named, and what a user can get wrong."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import hookcli
from hookcli.engine.parallel import plans
from hookcli.engine.parallel.plans import apply_plan, checked_model
from hookcli.errors import ModelError, RequestError
from hookcli.report.report import ErrorInfo
from hookcli.spec.compared.parallel import Mesh, ParallelPlan
from hookcli.spec.request import ModelSpec, Spec
from hookcli.worker.compared import plan_run
from hookcli.worker.worker import Limits
from tests.conftest import HEAD, forks, run_cli
from tests.torch_version import needs_torch

pytestmark = needs_torch("2.9", "sequence parallel plans place outputs as these tests expect")

NET = (
    HEAD
    + """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).relu())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.block, self.last = nn.Linear(8, 8), Block(), nn.Linear(8, 5)
    def forward(self, x):
        return self.last(self.block(self.first(x)))

def example_inputs():
    return torch.randn(2, 6, 8)

def build_model():
    return Net()
"""
)
PLAN = """
import os, signal
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleOutput, RowwiseParallel, SequenceParallel, parallelize_module,
)

TP = {"block.up": ColwiseParallel(), "block.down": RowwiseParallel()}
SP = {
    "first": PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(1)),
    "block.norm": SequenceParallel(),
    "block.up": ColwiseParallel(input_layouts=Shard(1)),
    "block.down": RowwiseParallel(output_layouts=Shard(1)),
    "last": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
}

def tp(model, mesh):
    return parallelize_module(model, mesh, TP)

def sp(model, mesh):
    return parallelize_module(model, mesh, SP)

def two(model, mesh):
    parallelize_module(model, mesh["tp"], TP)
    fully_shard(model, mesh=mesh["dp"])
    return model

def without_norm(model, mesh):
    return parallelize_module(model, mesh, {k: v for k, v in SP.items() if k != "block.norm"})

def partial(model, mesh):
    plan = {**TP, "block.down": RowwiseParallel(output_layouts=Partial())}
    return parallelize_module(model, mesh, plan)

def nothing(model, mesh):
    parallelize_module(model, mesh, TP)

def nothing_on_rank_1(model, mesh):
    if dist.get_rank() == 0:
        return model

def raises(model, mesh):
    raise ValueError("no such plan")

def killed(model, mesh):
    def die(module, args):
        if dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    model.block.down.register_forward_pre_hook(die)
    return model

def changed(model, mesh):
    with torch.no_grad():
        model.last.weight.mul_(2)
    return model
"""


@pytest.fixture
def compared(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "plan.py").write_text(PLAN)

    def run(plan, mesh="tp:2", *more):
        b = f"net.py?parallel=plan.py:{plan}&mesh={mesh}"
        done = run_cli("diff", "net.py", b, "-f", "json=out.json", *more, cwd=tmp_path)
        file = tmp_path / "out.json"
        assert forks().left_over() == []
        return done, json.loads(file.read_text()) if file.exists() else None

    return run


@pytest.mark.parametrize(("plan", "mesh"), [("sp", "tp:2"), ("two", "dp:2,tp:2")])
def test_a_right_plan_is_equal(compared, plan, mesh):
    done, diff = compared(plan, mesh)
    assert done.status == 0, done.stderr
    assert (diff["verdict"], diff["first"], diff["parallel"]["named"]) == ("same", None, [])
    assert diff["parallel"]["gradients"] == len(diff["state"]) == 10
    assert all(row["gradient"]["relative"] < 1e-5 for row in diff["state"])
    assert {row["status"] for row in diff["rows"]} <= {"same", "close"}


def test_a_norm_that_the_plan_leaves_out_is_named_by_its_two_parameters(compared):
    done, diff = compared("without_norm")
    assert done.status == 1
    assert diff["parallel"]["named"] == ["block.norm.bias", "block.norm.weight"]
    assert "it is partial along tp, nothing reduces it" in diff["first"]["sentence"]
    differ = {row["a"] for row in diff["state"] if row["status"] == "different"}
    assert differ == {"block.norm.weight", "block.norm.bias"}


def test_a_missing_reduction_names_the_layer_whose_output_is_partial(compared):
    done, diff = compared("partial")
    assert done.status == 1
    assert diff["parallel"]["named"] == ["block.down"]
    assert "nothing reduces it" in diff["first"]["sentence"]


def test_a_rank_that_is_killed_is_named_with_its_layer(compared):
    done, diff = compared("killed")
    assert done.status == 1
    assert diff["parallel"]["named"] == ["block.down"]
    assert "rank 1" in diff["first"]["sentence"]
    assert "the process was killed" in diff["first"]["sentence"]


def test_a_function_that_returns_nothing_is_refused_in_three_lines(compared):
    done, diff = compared("nothing")
    message, place, _ = done.error()
    assert done.status == 3
    assert message == "B: plan.py:nothing must return the model, got nothing"
    line = PLAN.splitlines().index("def nothing(model, mesh):") + 1
    assert place == f"plan.py:{line}"
    assert diff is None


def test_what_only_one_rank_returns_is_an_error_and_no_difference(compared):
    done, diff = compared("nothing_on_rank_1")
    message, place, hint = done.error()
    assert (done.status, diff) == (3, None)
    assert message == "B: rank 1: plan.py:nothing_on_rank_1 must return the model, got nothing"
    line = PLAN.splitlines().index("def nothing_on_rank_1(model, mesh):") + 1
    assert place == f"plan.py:{line}"
    assert hint.startswith("make the function do the same on all ranks")


WRONG = """import sys
def raises(model, mesh):
    raise ValueError("no such\\nplan")
def dimension(model, mesh):
    raise KeyError("Invalid mesh_dim_names ('dp',) specified")  # as PyTorch says it
def exits(model, mesh):
    sys.exit("usage: train.py [-h] data")
def alone(model):
    return model
def three(model, mesh, config):
    return model
def meta(model, mesh):
    return model.to("meta")
def other(model, mesh):
    return type(model[0])(2, 2)
class Plan:
    pass
"""
_FORM = "define `apply(model, mesh)` that returns the model"
_WITH_TRACE = "run with `-v` for the traceback"


@pytest.mark.parametrize(
    ("function", "said", "place", "hint"),
    [
        ("raises", "raised ValueError: no such plan", "plan.py:3", _WITH_TRACE),
        (
            "dimension",
            "raised KeyError: \"Invalid mesh_dim_names ('dp',) specified\"",
            "plan.py:5",
            "change `mesh=tp:2`, or the dimensions that the function uses",
        ),
        ("exits", "raised SystemExit: usage: train.py [-h] data", "plan.py:7", _WITH_TRACE),
        (
            "alone",
            "cannot be called with (model, mesh): too many positional arguments",
            "plan.py:8",
            _FORM,
        ),
        (
            "three",
            "cannot be called with (model, mesh): missing a required argument: 'config'",
            "plan.py:10",
            _FORM,
        ),
        (
            "Plan",
            "cannot be called with (model, mesh): too many positional arguments",
            "B?parallel",
            _FORM,
        ),
        (
            "meta",
            "returned a model without values: 0.weight is on the meta device",
            "plan.py:12",
            "call `to_empty` in the function, and set the values of the parameters",
        ),
        (
            "other",
            "returned another model: no parameter has a name of the reference",
            "plan.py:14",
            "return the model that the function got, or a wrapper of it",
        ),
    ],
)
def test_a_wrong_function_is_told_with_its_line(tmp_path, monkeypatch, function, said, place, hint):
    monkeypatch.setattr(plans, "init_device_mesh", lambda *_, **__: None)
    (tmp_path / "plan.py").write_text(WRONG)
    plan = ParallelPlan(f"{tmp_path}/plan.py:{function}", Mesh(("tp",), (2,)), "B?parallel")
    net = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(ModelError) as caught:
        apply_plan(plan, net, torch.device("cpu"), ["0.weight", "0.bias"])
    error = caught.value
    shown = [text.replace(f"{tmp_path}/", "") for text in (error.message, error.place)]
    assert shown == [f"plan.py:{function} {said}", place]
    assert error.hint == hint


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("missing.py:apply", "file not found: missing.py"),
        ("plan.py:missing", "'missing' not found in plan.py"),
        ("plan.py:FORM", "plan.py:FORM must be a function, got int"),
    ],
)
def test_a_function_that_is_not_there(tmp_path, function, said):
    (tmp_path / "plan.py").write_text("FORM = 3\n")
    plan = ParallelPlan(f"{tmp_path}/{function}", Mesh(("tp",), (2,)), "B?parallel")
    with pytest.raises(RequestError) as caught:
        apply_plan(plan, nn.Linear(2, 2), torch.device("cpu"), ["weight"])
    assert caught.value.message.replace(f"{tmp_path}/", "") == said
    assert caught.value.place == "B?parallel"
    assert caught.value.hint


def stopped(phase, kind="timeout"):
    return ErrorInfo(phase, None, None, (), kind, "rank 1: it took too long", None)


@pytest.fixture
def without_processes(monkeypatch):
    """The limits of the comparison of ranks that end with an error."""
    given = []

    def run(error):
        class Stub:
            def __init__(self, *_):
                pass

            def run(self, _):
                return SimpleNamespace(report=SimpleNamespace(error=error))

        def judge(_, limits, __):
            given.append(limits)
            return SimpleNamespace(report=None)

        monkeypatch.setattr(plan_run, "Ranks", Stub)
        monkeypatch.setattr(plan_run, "run_within", judge)
        monkeypatch.setattr(plan_run, "start_ahead", lambda _: None)
        monkeypatch.setattr(plan_run, "compared_value", lambda *_: {})
        part = plan_run._PlanRun
        monkeypatch.setattr(part, "_reference", lambda *_: SimpleNamespace(error=None))
        monkeypatch.setattr(part, "_as", lambda _, __, spec: spec)
        plan = ParallelPlan("plan.py:f", Mesh(("tp",), (2,)), "B?parallel")
        spec = Spec("grads", ModelSpec("net.py"))
        request = plan_run.PlanRequest(spec, spec, plan)
        limits = Limits(time.monotonic() - 1, 5.0, None)
        part(request, limits, "", lambda: None).outcome(lambda: None)
        return given[0]

    return run


def test_ranks_that_took_all_the_time_are_compared_nevertheless(without_processes):
    limits = without_processes(stopped("forward"))
    assert limits.deadline - time.monotonic() > 10


@pytest.mark.parametrize(("kind", "hint"), [("died", "find what"), ("timeout", "make the")])
def test_ranks_that_end_before_the_model_runs_are_an_error(without_processes, kind, hint):
    with pytest.raises(ModelError, match="rank 1: it took too long") as caught:
        without_processes(stopped("build", kind))
    assert caught.value.place == "B?parallel" and caught.value.hint.startswith(hint)


def test_another_model_is_not_a_plan_and_a_wrapper_is():
    plan = ParallelPlan("plan.py:apply", Mesh(("dp",), (2,)))
    net = nn.Sequential(nn.Linear(2, 2))
    names = ["0.weight", "0.bias"]
    assert checked_model(net, plan, names, "") is net
    wrapper = nn.Module()
    wrapper.module = net
    assert checked_model(wrapper, plan, names, "") is wrapper
    with pytest.raises(ModelError, match="returned another model"):
        checked_model(nn.Linear(2, 2), plan, names, "")
    with pytest.raises(ModelError, match="must return the model, got dict"):
        checked_model({}, plan, names, "")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("parallel=plan.py:tp", "a parallel plan requires setting 'mesh'"),
        ("mesh=tp:2", "a parallel plan requires setting 'parallel'"),
        ("parallel=plan.py&mesh=tp:2", "'plan.py' does not name a function"),
        ("parallel=plan.py:tp&mesh=tp", "mesh must be names with sizes, got 'tp'"),
        ("parallel=plan.py:tp&mesh=tp:2,tp:2", "duplicate dimension 'tp'"),
        ("parallel=plan.py:tp&mesh=tp:9", "mesh must have 2 to 8 ranks, got 9"),
        ("parallel=plan.py:tp&mesh=tp:1", "mesh must have 2 to 8 ranks, got 1"),
        (
            "parallel=plan.py:tp&mesh=tp:2&compile=inductor",
            "a parallel plan cannot be combined with setting 'compile'",
        ),
    ],
)
def test_a_plan_without_its_parts_is_refused_before_anything_runs(tmp_path, query, said):
    (tmp_path / "net.py").write_text(NET)
    done = run_cli("diff", "net.py", f"net.py?{query}", cwd=tmp_path)
    assert done.status == 2
    assert done.error()[0] == said


def test_a_batch_that_ranks_of_data_cannot_split_is_refused(compared):
    done, _ = compared("tp", "dp:4")
    assert done.status == 2
    assert "2 samples cannot be split over 4 ranks of data" in done.error()[0]


def test_a_plan_that_changes_values_is_named_by_the_parameter(compared):
    done, diff = compared("changed")
    assert done.status == 1
    assert diff["parallel"]["named"] == ["last.weight"]
    assert "changed the values of parameter last.weight" in diff["first"]["sentence"]


def test_check_judges_each_plan_by_itself(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "plan.py").write_text(PLAN)
    (tmp_path / "hooks.yaml").write_text(
        "model: net.py\nchecks:\n"
        "  - {rule: parallel_equal, plan: 'plan.py:without_norm', mesh: 'tp:2'}\n"
        "  - {rule: parallel_equal, plan: 'plan.py:raises', mesh: 'tp:2'}\n"
    )
    run_cli("check", "-c", "hooks.yaml", "-f", "json=out.json", cwd=tmp_path)
    report = json.loads((tmp_path / "out.json").read_text())
    rows = [row for row in report["checks"] if row["rule"] == "parallel_equal"]
    assert [(row["status"], row["target"]) for row in rows] == [
        ("fail", "block.norm.bias"), ("error", ""),
    ]  # fmt: skip
    assert "raised ValueError: no such plan" in rows[1]["message"]


def test_the_python_api_judges_a_plan_of_a_model_by_name(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "plan.py").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    checks = [
        {"rule": "parallel_equal", "plan": f"plan.py:{name}", "mesh": "tp:2"}
        for name in ("sp", "without_norm")
    ]
    report = hookcli.check("net.py", checks, rules=["parallel_equal"])
    assert not report.passed
    assert [row.status for row in report.checks] == ["pass", "fail"]
    assert report.findings[0].target == "block.norm.bias"
    assert "it is partial along tp, nothing reduces it" in report.message()
