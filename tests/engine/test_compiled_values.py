"""What is recorded of a compiled model, how it is judged, and the account of the compiler."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.engine.compiled.account import CompilerReader, first_sentence, guard_of
from hookcli.engine.compiled.judge import FACTOR, CompiledJudge, Yardsticks
from hookcli.engine.compiled.recording import CallRecorder, Recorded, run_once
from hookcli.engine.compiled.rounding import RoundingNoise
from hookcli.models.batch import Batch


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.act = nn.Linear(6, 6), nn.ReLU(inplace=True)

    def forward(self, x):
        return {"y": self.act(self.linear(x))}


class Net(nn.Module):
    """Calls one part twice, which writes to the output of its first layer."""

    def __init__(self):
        super().__init__()
        self.part, self.head = Part(), nn.Linear(6, 2)

    def forward(self, x):
        x = self.part(x)["y"]
        x = self.part(x)["y"] * 2
        return self.head(x)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


@pytest.fixture(autouse=True)
def fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def ran(net, backend=None, noise=None):
    batch = Batch((torch.linspace(-1, 1, 18).reshape(3, 6),), {})
    recorder = CallRecorder(sampled=False)
    with recorder.attached(net):
        call = net if backend is None else torch.compile(net, backend=backend, fullgraph=True)
        if noise is None:
            return run_once(call, net, batch, seed=0, recorder=recorder)
        with noise:
            return run_once(call, net, batch, seed=0, recorder=recorder)


def test_hooks_in_a_compiled_graph_see_what_hooks_by_hand_see(net):
    seen = []
    for name, module in net.named_modules():
        if name:
            module.register_forward_hook(
                lambda _m, _a, out, name=name: seen.append(
                    (name, (out["y"] if isinstance(out, dict) else out).detach().clone())
                )
            )
    x = torch.linspace(-1, 1, 18).reshape(3, 6)
    net(x)
    by_hand = list(seen)
    run = ran(net, "aot_eager")  # as one graph: fullgraph
    inside = [m for m in run.moments if m.kind == "out" and m.name]
    assert [m.name for m in inside] == [name for name, _ in by_hand]
    for moment, (_, value) in zip(inside, by_hand, strict=True):
        assert torch.equal(moment.tensors[0], value)
    assert [m.index for m in inside if m.name == "part"] == [0, 1]


def test_a_compiled_run_is_bitwise_that_of_the_eager_model(net):
    eager, compiled = ran(net), ran(net, "aot_eager")
    rows = CompiledJudge(Yardsticks(eager), ()).ends(compiled, eager.paths)
    assert [row["status"] for row in rows["result"]] == ["same"]
    assert {row["gradient"]["status"] for row in rows["parameters"]} == {"same"}
    assert len(rows["parameters"]) == 4


def only(value):
    return Recorded(paths=[""], result=[value])


def status(eager, value, noise=(), precise=None, tolerances=()):
    marks = Yardsticks(only(eager))
    for run in noise:
        marks.add_noise(only(run))
    if precise is not None:
        marks.add_precise(only(precise))
    return CompiledJudge(marks, tolerances).row(("result", 0), value, name="", path="")["status"]


def test_a_difference_counts_beyond_the_limit_and_beyond_what_rounding_explains():
    eager = torch.ones(100)
    assert status(eager, eager) == "same"
    assert status(eager, eager * 1.00001) == "close"
    assert status(eager, eager * 1.01) == "different"
    assert status(eager, eager * 1.01, noise=[eager * 1.002]) == "close"  # 10 times 0.002
    assert status(eager, eager * 1.03, noise=[eager * 1.002]) == "different"
    assert FACTOR == 10


def test_a_compiled_model_that_is_nearer_to_float64_does_not_differ():
    precise = torch.ones(100, dtype=torch.float64)
    eager = precise.float() * 1.01
    assert status(eager, precise.float(), precise=precise) == "close"
    assert status(eager, precise.float() * 1.3, precise=precise) == "different"


def test_shapes_dtypes_integers_and_tolerances():
    eager = torch.ones(200)
    assert status(eager, torch.ones(100)) == "different"
    assert status(eager, eager.double()) == "different"
    assert status(eager, eager * 1.01, tolerances=[("*", 0.1)]) == "close"
    numbers = torch.arange(200)
    one = numbers.clone()
    one[3] = 7
    assert status(numbers, one) == "close"  # a tie may go the other way
    assert status(numbers, numbers + 1) == "different"
    nan = torch.full((3,), torch.nan)
    assert status(nan, nan) == "same"


def test_rounding_noise_changes_what_rounds_by_at_most_an_epsilon():
    x = torch.linspace(1, 2, 1000)
    with RoundingNoise(0):
        moved, doubled = torch.cat([x, x]), x * 2
        kept = x.clone()
        zero = torch.zeros(3) * 2
    assert torch.equal(moved, torch.cat([x, x]))
    assert torch.equal(kept, x)
    assert not zero.any()
    change = ((doubled - 2 * x) / (2 * x)).abs()
    eps = torch.finfo(torch.float32).eps
    assert 0 < change.max() <= 2 * eps


def test_noise_reaches_every_layer_and_the_gradients(net):
    eager, noisy = ran(net), ran(net, noise=RoundingNoise(1))
    marks = Yardsticks(eager)
    marks.add_noise(noisy)
    assert 0 < marks.noise["result", 0] < 1e-5
    assert all(marks.noise["gradient", name] < 1e-4 for name in eager.gradients)
    assert marks.noise["gradient", "part.linear.weight"] > 0


# The account of the compiler


class Tagged(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.tag = nn.Linear(4, 4), ""

    def forward(self, x):
        if self.tag == "x":
            x = x + 1
        return self.linear(x)


class Broken(nn.Module):
    def forward(self, x):
        x = x * 2
        torch._dynamo.graph_break()
        return x + 1


def test_a_graph_break_has_its_line():
    reader = CompilerReader()
    torch.compile(Broken(), backend="eager")(torch.ones(2))
    reader.read(None)
    account = reader.account()
    [found] = account.breaks
    line = Broken.forward.__code__.co_firstlineno + 2
    assert found.place == f"tests/engine/test_compiled_values.py:{line}"
    assert found.count == 1
    assert account.graphs == 2


def test_recompilations_are_counted_by_step_until_the_limit():
    net, reader = Tagged(), CompilerReader()
    compiled = torch.compile(net, backend="eager")
    for step in range(12):
        net.tag = str(step)
        compiled(torch.ones(2, 4))
        reader.steps += 1
        if reader.has_compiled():
            reader.read(step)
    account = reader.account()
    [again] = account.recompilations
    assert (again.function, again.count, again.steps) == ("forward", 7, 7)
    assert again.guard.endswith("tag == '0'")
    line = Tagged.forward.__code__.co_firstlineno
    assert again.place == f"tests/engine/test_compiled_values.py:{line + 1}"
    assert account.limit_hit == (f"forward (tests/engine/test_compiled_values.py:{line})",)
    assert account.graphs == 8
    assert not reader.has_compiled()


def test_what_was_compiled_before_is_not_of_a_new_reader():
    torch.compile(Broken(), backend="eager")(torch.ones(2))
    reader = CompilerReader()
    assert not reader.has_compiled()
    reader.read(None)
    assert reader.account() is None


def test_a_reset_of_the_compiler_loses_nothing_that_was_read():
    reader = CompilerReader()
    for _ in range(2):
        torch.compile(Broken(), backend="eager")(torch.ones(2))
        reader.read(None)
        torch.compiler.reset()
    [found] = reader.account().breaks
    assert found.count == 2


def test_an_older_torch_has_the_guards_in_another_list(monkeypatch):
    class Old:
        """An entry of torch 2.6, which has no reason."""

        def __init__(self, entry):
            for name in ("compile_id", "start_time", "co_name", "co_filename", "is_forward",
                         "co_firstlineno", "fail_reason"):  # fmt: skip
                setattr(self, name, getattr(entry, name))

    from torch._dynamo import utils

    new = utils.get_compilation_metrics
    monkeypatch.setattr(utils, "get_compilation_metrics", lambda: list(map(Old, new())))
    net, reader = Tagged(), CompilerReader()
    compiled = torch.compile(net, backend="eager")
    for step in range(3):
        net.tag = str(step)
        compiled(torch.ones(2, 4))
        reader.read(step)
    account = reader.account()
    [again] = account.recompilations
    assert (again.function, again.count) == ("forward", 2)
    assert "tag == " in again.guard
    assert not account.is_complete


@pytest.mark.parametrize(
    ("reason", "guard", "place"),
    [
        ("0/0: k == 0.0      # if k:  # m.py:8 in f\nUser stack trace:\n"
         '  File "/x/m.py", line 8, in f\n    if k', "k == 0.0", "/x/m.py:8"),
        ("2/1: ___stack0 > 0.0  # if x  # m.py:8 in f", "___stack0 > 0.0", None),
        ("", "", None),
    ],
)  # fmt: skip
def test_the_guard_and_line_of_a_reason(reason, guard, place):
    assert guard_of(reason) == (guard, place)


def test_the_first_sentence_of_a_reason():
    assert first_sentence("Call\n  Explanation: No tracing.\n  Hint: x") == "Call: No tracing."
    assert first_sentence("backend='x' raised:\nRuntimeError: no") == (
        "backend='x' raised: RuntimeError: no"
    )
    assert first_sentence("") == "no reason given"
    assert len(first_sentence("a" * 999)) == 200


def test_sampled_values_have_at_most_65536_elements():
    recorder = CallRecorder(sampled=True)
    recorder.enter_root((torch.ones(300_000),), {})
    [(_, _, [kept])] = recorder.calls
    assert 65_536 <= kept.numel() <= 2 * 65_536
