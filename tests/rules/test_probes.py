"""The runs that rules ask for beside the one that is reported: from one state, counted, and few."""

from __future__ import annotations

import pytest

from hookcli.formats.check.document import performed
from tests.conftest import HEAD, SAMPLES, run_cli
from tests.rules.judging import failed, judge, rows

NET = """
import os
example_inputs = torch.linspace(-2, 2, 24).view(3, 8)
{above}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        {init}
    def forward(self, x):
        {forward}
"""


@pytest.fixture
def net(tmp_path):
    """Judge a net with this in its constructor and forward."""

    def judged(forward, init="pass", above="", yaml="{preset: none}"):
        path = tmp_path / "net.py"
        path.write_text(HEAD + NET.format(forward=forward, init=init, above=above))
        return judge(f"{path}:Net", yaml)

    return judged


def test_a_weight_that_is_written_through_data_is_put_back_before_the_next_run(net):
    report = net("self.a.weight.data.mul_(0.5); return self.a(x)")
    assert failed(report) == []
    passes = {one.target: one.value for one in report.measurements if one.probe == "passes"}
    assert passes["repeat_eval"]["forwards"] == 4, "once, and once more with care"


def test_a_cache_on_an_object_begins_each_run_as_it_began_the_first(net):
    above = (
        "class Cache:\n    def __init__(self):\n        self.kept, self.state = [], {'n': [0]}\n"
    )
    report = net(
        "self.cache.kept.append(self.a(x)); self.cache.state['n'][0] += 1; "
        "return sum(self.cache.kept) * self.cache.state['n'][0]",
        init="self.cache = Cache()",
        above=above,
    )
    assert failed(report) == []
    assert rows(report, "deterministic")[0].status == "pass"


def test_an_output_expanded_to_any_size_is_compared_by_what_it_holds(net):
    report = net("return self.a(x), x[0, 0].expand(2**20, 2**20)")
    assert failed(report) == []


def test_a_batch_that_one_run_uses_up_is_not_run_again(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(
        HEAD + "def example_inputs():\n    return (iter([torch.ones(2, 4)]),)\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n"
        "    def forward(self, xs):\n        return torch.cat([self.a(x) for x in xs])\n"
    )
    report = judge(path)
    for rule in ("deterministic", "batch_independent"):
        (row,) = rows(report, rule)
        assert (row.status, row.message) == (
            "skip", "the batch contains an iterator, which one run exhausts",
        )  # fmt: skip


SEQUENCE = "self.a(x).cumsum(1)"


@pytest.mark.parametrize(
    ("forward", "batch", "why"),
    [
        (f"return {SEQUENCE}", "(1, 5, 8)", "dimension 0 has 1 sample: pass `--batch-size 2`"),
        (f"return {SEQUENCE}.view(3, -1, 8)[:, :x.shape[1]]", "(3, 5, 8)", None),
        (
            f"assert len(x) == 3; return {SEQUENCE}",
            "(3, 5, 8)",
            "the batch dimension is unknown: 4 samples along dimension 0 failed",
        ),
    ],
)
def test_time_is_not_taken_for_the_batch_where_the_batch_has_one_size(forward, batch, why, net):
    above = f"example_inputs = torch.linspace(-2, 2, 200)[:torch.Size({batch}).numel()].view{batch}"
    report = net(forward, above=above)
    (row,) = rows(report, "batch_independent")
    assert row.status == "skip", row.message
    assert why is None or row.message.startswith(why)


GRAPH = "self.register_buffer('adj', torch.linspace(0, 1, 1024).view(32, 32))"
MIXING = {
    "part of an adjacency": ("n = len(x); return self.adj[:n, :n] @ self.a(x)", "skip"),
    "a learned adjacency": (
        "e = self.a.weight[:len(x)]; return torch.softmax(e @ e.t(), 1).mm(self.a(x))", "skip",
    ),
    "the mean of the batch": ("return self.a(x - x.mean(0))", "fail"),
    "a mean as a matrix": ("n = len(x); return torch.full((n, n), 1 / n) @ self.a(x)", "fail"),
    "similarity of samples": ("return torch.softmax(x @ x.t() / 99, 1) @ self.a(x)", "fail"),
    "a weight of the batch's size": (
        "x = self.a(x - x.mean(0)); return (self.adj[:8, :8] @ x.t()).t()", "fail",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXING)
def test_rows_that_a_matrix_of_the_model_mixes_may_be_nodes(name, net):
    forward, status = MIXING[name]
    batch = "example_inputs = torch.randn(8, 8)"  # as many samples as features
    [row] = rows(net(forward, init=GRAPH, above=batch), "batch_independent")
    assert row.status == status, row.message


def test_every_forward_and_backward_is_counted(net, tmp_path):
    log = tmp_path / "log"
    above = f"def say(word):\n    with open({str(log)!r}, 'a') as file:\n        file.write(word)\n"
    forward = (
        "say('f'); x = self.a(x); "
        "x.register_hook(lambda g: say('b')) if x.requires_grad else None; return x"
    )
    for yaml in (
        "{preset: none}",
        "checks: [{rule: deterministic, modes: [eval, train]}, {rule: trainable, at: a.weight}]",
    ):
        log.write_text("")
        report = net(forward, above=above, yaml=yaml)
        passes = [one.value for one in report.measurements if one.probe == "passes"]
        assert log.read_text().count("f") == sum(one["forwards"] for one in passes)
        assert log.read_text().count("b") == sum(one["backwards"] for one in passes)


def test_a_healthy_model_takes_four_forwards_beside_its_own(net):
    assert performed(net("return self.a(x)")) == (
        "check ran 1 forward and backward in train mode (finite, grad_exists, uncalled_modules, "
        "hooks_fired), 2 forwards in eval mode (deterministic), 2 forwards in eval mode "
        "(batch_independent)"
    )


def test_v_says_what_was_run_on_stderr():
    done = run_cli("check", str(SAMPLES / "moe.py"), "-v")
    assert "note: check ran 1 forward and backward in train mode (finite, " in done.err
    assert "check ran" not in done.out
    assert "check ran" not in run_cli("check", str(SAMPLES / "moe.py")).err
