"""A torch without hooks of CUDA graphs; a launch that fails; the graphs of a script."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import hookcli
from hookcli.errors import ProblemsError, RequestError
from hookcli.torch_private import as_numbers
from tests.conftest import ROOT, run_cli
from tests.hooks.cuda_graphs.capturing import KINDS, Captures
from tests.hooks.running import carry_out, hook

HAS_HOOKS = as_numbers(torch.__version__) >= (2, 14)
TRAIN = """\
import sys

sys.path.insert(0, {root!r})
import torch
from torch import nn

from tests.hooks.cuda_graphs import fake_graphs

torch.__version__ = "2.14.0"
for name, function in fake_graphs.functions().items():
    setattr(torch.cuda.graphs, name, function)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.graph = fake_graphs.FakeGraph()
        self.graph.capture_begin()
        self.graph.capture_end()

    def forward(self, x):
        self.graph.replay()
        if x.sum() > 8:
            other = fake_graphs.FakeGraph()
            other.capture_begin()
            other.capture_end()
        return self.fc(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for size in (1.0, 1.0, 2.0):
    loss = model(size * torch.ones(2, 4)).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.skipif(HAS_HOOKS, reason="this torch has the hooks")
@pytest.mark.parametrize("kind", KINDS)
def test_an_older_torch_refuses_the_kind_with_the_version_that_has_it(kind, tmp_path):
    config = tmp_path / "hooks.yaml"
    config.write_text(f"hooks:\n- {{kind: {kind}, do: record}}\n")
    with pytest.raises((ProblemsError, RequestError)) as caught:
        hookcli.trace(nn.Linear(2, 2), torch.ones(1, 2), config=config)
    assert caught.value.message == (
        f"kind {kind} needs torch 2.14 or newer, this is {torch.__version__}"
    )


def test_hooks_on_graphs_do_not_change_which_calls_of_compiled_modules_are_seen(fake):
    def compiled():
        inner = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend="eager")
        return torch.compile(nn.Sequential(inner, nn.Linear(4, 2)), backend="eager")

    seen = []
    for more in ([], [hook("cuda_graph_capture_end", index=1)]):
        found = carry_out(compiled, fake.x(), [hook("forward", "*"), *more], command="grads")
        assert found.error is None
        seen.append([(event.kind, event.target) for event in found.events])
    assert seen[0] == seen[1] != []


def test_the_launch_of_a_graph_that_fails_is_ended_by_its_hook(fake):
    """Torch calls the hooks at the end of a launch even if it raises."""
    names = [name for name in KINDS if "replay" in name]
    hooks = [hook(kind, index=i) for i, kind in enumerate(names)]

    def on_graph(graph):
        graph.fails = True

    found = carry_out(Captures(fake, on_graph=on_graph), fake.x(), hooks)
    assert str(found.error) == "CUDA error: the launch failed"
    assert found.failure.hook is None
    assert [event.kind for event in found.events] == [
        "global_cuda_graph_replay_start", "cuda_graph_replay_start",
        "global_cuda_graph_replay_end", "cuda_graph_replay_end",
    ]  # fmt: skip


def test_hookcli_run_sees_the_graphs_of_the_steps_that_it_observes(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN.format(root=str(ROOT)))
    listed = ", ".join(kind for kind in KINDS if "global" not in kind)
    (tmp_path / "hooks.yaml").write_text(f"hooks:\n- {{kind: [{listed}], do: record}}\n")
    ran = run_cli("run", "-c", "hooks.yaml", "-o", "run.json", "train.py", cwd=tmp_path)
    assert ran.status == 0, ran.err
    (record,) = json.loads((tmp_path / "run.json").read_text())["records"]
    launches = ["cuda_graph_replay_start", "cuda_graph_replay_end"]
    expected = {step: [(kind, "FakeGraph[0]") for kind in launches] for step in range(3)}
    made = ["capture_start", "capture_end", "instantiate", "destroy"]
    expected[2] += [(f"cuda_graph_{moment}", "FakeGraph[1]") for moment in made]
    for step, rows in expected.items():
        events = [event for event in record["events"] if event["step"] == step]
        assert [(event["kind"], event["target"]) for event in events] == rows
