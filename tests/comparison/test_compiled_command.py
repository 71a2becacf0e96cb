"""`hookcli diff` of a compiled model, and the rule `compile_equal`, as a user runs them."""

from __future__ import annotations

import json

import pytest

from hookcli.cli.diff_sides import compile_settings_of, parse_side
from hookcli.errors import RequestError
from tests.conftest import HEAD

NET = """
import functools
from torch.nn import functional as F

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.act = nn.Linear(4, 8), nn.Tanh()

    def forward(self, x):
        return self.act(self.up(x))

class Net(nn.Module):
    example_inputs = (torch.ones(2, 4),)

    def __init__(self):
        super().__init__()
        self.part, self.head = Part(), nn.Linear(8, 3)

    def forward(self, x):
        y = self.part(x)
        {code}
        return self.head(y)

def sigmoid(gm, inputs):
    for node in gm.graph.nodes:
        if node.target is torch.tanh:
            node.target = torch.sigmoid
    gm.recompile()
    return gm.forward
"""


def diff(cli, folder, query):
    done = cli("diff", "net.py", f"net.py?{query}", "-f", "json=out.json", "-f", "table")
    return done, json.loads((folder / "out.json").read_text())


def net(model_file, code="pass"):
    model_file(NET.replace("{code}", code), "net.py")


def test_a_right_model_is_equal(cli, model_file, tmp_path):
    net(model_file)
    done, found = diff(cli, tmp_path, "compile=eager&fullgraph=true")
    assert done.status == 0
    assert found["verdict"] == "same"
    assert found["calls"]["same"] == 5
    assert found["compiled"]["gradients"] == 4
    assert found["compiled"]["compiler"]["graphs"] == 1
    assert found["compiled"]["noise_runs"] == 0
    text = " ".join(done.out.split())
    assert "Backend eager, fullgraph=true Graphs 1 graph, 0 graph breaks, 0 recomp" in text
    assert text.endswith("EQUAL within tolerance: 1 output and 4 gradients")


def test_the_layer_that_a_backend_changes_is_named(cli, model_file, tmp_path):
    net(model_file)
    done, found = diff(cli, tmp_path, "compile=net.py:sigmoid")
    assert done.status == 1
    assert found["compiled"]["named"] == ["part.act"]
    assert found["first"]["fault"] == "output"
    assert found["first"]["sentence"].startswith(
        "part.act (Tanh): the inputs agree and the output differs by "
    )
    assert found["compiled"]["noise_runs"] == 3
    assert found["compiled"]["float64"] is True
    faults = [row["a"]["name"] for row in found["rows"] if row["fault"]]
    assert faults == ["part.act"]


def test_a_model_that_breaks_the_graph_has_its_line_and_what_can_be_had(cli, model_file, tmp_path):
    net(model_file, "torch._dynamo.graph_break()")
    done, found = diff(cli, tmp_path, "compile=eager&fullgraph=true")
    assert done.status == 1
    sentence = found["first"]["sentence"]
    assert sentence.startswith("the model does not compile: Unsupported: Call to")
    line = 1 + (HEAD + NET).splitlines().index("        {code}")
    assert sentence.endswith(f"(net.py:{line})")
    assert any(
        text == "without fullgraph=true, it compiles as 2 graphs; the outputs and gradients agree"
        for text in found["warnings"]
    )


def test_check_compiles_with_each_backend(cli, model_file, tmp_path):
    net(model_file, "y = y * 2 if torch.compiler.is_compiling() else y")
    (tmp_path / "hooks.yaml").write_text(
        "model: net.py\nchecks:\n"
        "  - {rule: compile_equal, backend: eager}\n"
        "  - {rule: compile_equal, backend: aot_eger}\n"
    )
    cli("check", "-c", "hooks.yaml", "-f", "json=out.json")
    report = json.loads((tmp_path / "out.json").read_text())
    rows = [row for row in report["checks"] if row["rule"] == "compile_equal"]
    assert [(row["status"], row["target"]) for row in rows] == [("fail", ""), ("error", "")]
    assert "the model (Net): all layers before agree and the input of head" in rows[0]["message"]
    assert rows[1]["message"] == "B: unknown backend of torch.compile 'aot_eger'"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("compile=inductor&dynamic=yes", "dynamic must be true or false, got 'yes'"),
        ("compile=aot_eager&mode=max-autotune", "backend 'aot_eager' has no mode 'max-autotune'"),
        ("compile=inductor&mode=fast", "unknown mode 'fast'"),
        ("fullgraph=true", "setting 'fullgraph' requires setting 'compile'"),
        ("compile=", "setting 'compile' requires a value"),
    ],
)
def test_wrong_settings_are_refused(query, message):
    with pytest.raises(RequestError) as caught:
        compile_settings_of(parse_side(f"net.py?{query}"))
    assert caught.value.message == message


def test_both_kinds_of_modes_may_be_given():
    side = parse_side("net.py?mode=train&compile=inductor&mode=reduce-overhead&dynamic=false")
    settings = compile_settings_of(side)
    assert settings.text() == "inductor, mode=reduce-overhead, dynamic=false"
    assert dict(side.settings)["compile"] == "inductor"


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("net.py?compile=eager", "net.py", "a compiled model can only be compared with a model"),
        ("other.py", "net.py?compile=eager", "can only be compared with the same model"),
        ("net.py?dtype=float64", "net.py?compile=eager", "only be compared with the same model"),
    ],
)
def test_only_the_same_model_is_compared(cli, model_file, a, b, message):
    net(model_file)
    done = cli("diff", a, b)
    assert done.status == 2
    assert message in done.error()[0]


def test_graphs_of_cuda_need_a_gpu(cli, model_file):
    net(model_file)
    done = cli("diff", "net.py", "net.py?compile=inductor&mode=reduce-overhead")
    assert done.status == 2
    assert done.error()[0] == "B: CUDA graphs require a GPU, and the model is on cpu"
