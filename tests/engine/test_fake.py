"""The fake run: what it builds, what it cannot see, and how real tensors confirm it."""

from __future__ import annotations

import re

import pytest
import torch

from hookcli.errors import ModelError
from tests.conftest import HEAD, attempt, run_cli


@pytest.fixture
def file(tmp_path):
    def write(body, name="net.py"):
        path = tmp_path / name
        path.write_text(HEAD + body)
        return path

    return write


def net(init, forward, before=""):
    lines = "".join(f"        {line}\n" for line in init.splitlines())
    body = "".join(f"        {line}\n" for line in forward.splitlines())
    return (
        f"{before}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"{lines}    def forward(self, x):\n{body}"
    )


BUILDABLE = {
    "trunc_normal_": ("self.w = nn.Parameter(torch.empty(3, 3))\nnn.init.trunc_normal_(self.w)",
                      "return x @ self.w"),
    "a device asked for": ("self.w = nn.Linear(3, 3)\nself.to(torch.device('cpu'))",
                           "return self.w(x)"),
    "cpu and dtype": ("self.w = nn.Linear(3, 3).cpu().double()", "return self.w(x.double())"),
    "a plain tensor": ("self.scale = torch.ones(3)\nself.more = [torch.ones(3), (torch.ones(1),)]",
                       "return x * self.scale + self.more[0] * self.more[1][0]"),
    "a dict of tensors": ("self.table = {'a': {'b': torch.ones(3)}}",
                          "return x * self.table['a']['b']"),
    "a real tensor among them": ("self.w = torch.ones(3, device='cpu')", "return x * self.w"),
    "linspace on the cpu": (
        "self.p = [v.item() for v in torch.linspace(0, 1, 3, device='cpu')]\n"
        "self.w = nn.Linear(3, 3)",
        "return self.w(x) * self.p[1]",
    ),
    "old weight_norm": ("self.w = torch.nn.utils.weight_norm(nn.Linear(3, 3))", "return self.w(x)"),
    "lstm": ("self.w = nn.LSTM(3, 4, 2, batch_first=True)", "return self.w(x[None])"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*weight_norm")
@pytest.mark.parametrize("name", BUILDABLE)
def test_what_can_be_built_and_run_fake(file, name):
    path = file(net(*BUILDABLE[name]))
    fake, real = (attempt(path, "2x3", tensors=t) for t in ("fake", "real"))
    assert fake.status == "complete", fake.error
    assert fake.layers == real.layers
    assert fake.parameters == real.parameters


def test_ties_are_kept(file):
    path = file(net("self.a = nn.Linear(3, 3)\nself.b = nn.Linear(3, 3)\n"
                    "self.b.weight = self.a.weight", "return self.b(self.a(x))"))  # fmt: skip
    report = attempt(path, "2x3", tensors="fake")
    assert report.totals.parameters == 9 + 3 + 3
    assert report.parameters[0].shared_with == ("b.weight",)
    assert [row.shared_with for row in report.layers] == [(), ("b.weight",), ("a.weight",)]


def test_no_memory_is_taken_for_the_parameters(file):
    path = file(net("self.a = nn.Linear(300_000, 300_000)", "return self.a(x)"))
    report = attempt(path, "2x300000", tensors="fake")
    assert report.model.parameter_bytes == 4 * (300_000**2 + 300_000)


def test_a_model_that_needs_values_runs_for_real_and_says_why(file, tmp_path):
    path = file(net("self.a = nn.Linear(3, 3)", "return self.a(x) if x.sum() > -1e9 else x"))
    report = run_cli("inspect", path, "-i", "2x3", "-f", "json").report
    assert report["run"]["tensors"] == "real"
    assert report["run"]["fallback"].startswith("DataDependentOutputException: ")
    assert report["run"]["fallback"].endswith("net.py:8")
    assert report["status"] == "complete"


def test_a_constructor_that_needs_values_is_built_for_real(file):
    path = file(net("self.n = int(torch.ones(3).sum())\nself.a = nn.Linear(3, self.n)",
                    "return self.a(x)"))  # fmt: skip
    report = run_cli("inspect", path, "-i", "2x3", "-f", "json").report
    assert report["run"]["tensors"] == "real"
    assert "cannot build Net" in report["run"]["fallback"]
    assert report["status"] == "complete"


def test_tensors_fake_never_falls_back(file):
    path = file(net("self.a = nn.Linear(3, 3)", "return self.a(x) if x.sum() > 0 else x"))
    result = run_cli("inspect", path, "-i", "2x3", "--tensors", "fake")
    message, place, hint = result.error()
    assert "DataDependentOutputException in forward, in the model itself (Net)" in message
    assert place.endswith("net.py:8")
    assert "remove `--tensors fake`" in hint
    assert result.status == 3


def test_an_index_past_the_table_is_seen_though_fake_tensors_have_no_values(file):
    path = file(net("self.e = nn.Embedding(10, 4)", "return self.e(x)"))
    assert attempt(path, "2x3:int64:0..10", tensors="fake").status == "complete"
    assert attempt(path, "2x3:int64:0..11", tensors="fake").error.type == "FakeDoubtError"
    result = run_cli("inspect", path, "-i", "50:int64:0..11")
    assert "IndexError in forward, in 'e' (Embedding)" in result.error()[0]
    assert result.status == 3


@pytest.mark.parametrize(
    "positions",
    ["torch.arange(x.shape[1])", "torch.arange(2, 2 + x.shape[1], device=x.device)[None, :]",
     "torch.arange(0, 3 * x.shape[1], 3).unsqueeze(0).expand(2, -1)"],
)  # fmt: skip
@pytest.mark.parametrize("length", [2, 9])
def test_positions_past_their_table_are_seen(file, positions, length):
    path = file(net("self.pos = nn.Embedding(8, 3)", f"return self.pos({positions}).sum() + x"))
    done = run_cli("inspect", path, "-i", f"2x{length}")
    assert (done.status, "index out of range" in done.err) == (
        (3, True) if length > 2 else (0, False)
    )
    assert ("real tensors" in done.out) is (length > 2)


def test_an_embedding_with_a_forward_of_its_own_is_no_lookup(file):
    before = "class Positions(nn.Embedding):\n    def forward(self, ids):\n"
    before += "        return self.weight[: ids.shape[1]]\n"
    path = file(net("self.e = Positions(10, 4)", "return self.e(x)", before=before))
    assert attempt(path, "2x3:int64:0..50000", tensors="fake").status == "complete"


def test_a_shape_error_is_that_of_real_tensors(file):
    """Fake kernels word it differently: what is reported is what the user would see."""
    path = file(net("self.a = nn.Linear(4, 3)", "return self.a(x)"))
    result = run_cli("inspect", path, "-i", "2x3")
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x3)" in result.error()[0]


@pytest.mark.parametrize("tensors", ["auto", "real"])
def test_a_real_run_that_memory_would_not_hold_is_refused_with_its_size(file, tensors):
    path = file(net("self.a = nn.Linear(10**6, 10**6)", "return self.a(x) if x.sum() > 0 else x"))
    result = run_cli("inspect", path, "-i", "2x1000000", "--tensors", tensors)
    assert "a real run needs 4000.0 GB for parameters" in result.error()[0]
    assert result.status == 3


def test_max_memory_counts_before_the_run(file):
    path = file(net("self.a = nn.Linear(20_000, 20_000)", "return self.a(x)"))
    result = run_cli("inspect", path, "-i", "2x20000", "--tensors", "real", "--max-memory", "1")
    assert (
        "a real run needs 1.6 GB for parameters, but only 1.0 GB is available" in result.error()[0]
    )


def test_sizing_a_model_leaves_nothing_behind(file, tmp_path):
    """The constructor runs once in the worker, whatever its fork does."""
    mark = tmp_path / "built"
    path = file(
        net(
            f"with open({str(mark)!r}, 'a') as f: f.write('x')\nself.a = nn.Linear(3, 3)",
            "return x",
        )
    )
    attempt(path, "2x3", tensors="real")
    assert mark.read_text() in {"x", "xx"}  # a file is the one thing that a fork shares


DECLARED = """
class Net(nn.Module):
    {attribute}
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
    {method}
    def forward(self, x, y=None):
        return self.a(x)
{after}
"""


@pytest.mark.parametrize("tensors", ["real", "fake"])
@pytest.mark.parametrize(
    ("attribute", "method", "after"),
    [
        ("example_inputs = (torch.ones(2, 3),)", "", ""),
        ("example_inputs = {'x': torch.ones(2, 3)}", "", ""),
        ("example_input_array = torch.ones(2, 3)", "", ""),
        ("", "def example_inputs(self): return torch.ones(2, 3)", ""),
        ("", "@property\n    def dummy_inputs(self): return {'x': torch.ones(2, 3)}", ""),
        ("pretrained_cfg = {'input_size': (3,)}", "", ""),
        ("", "", "example_inputs = torch.ones(2, 3)"),
        ("", "", "def example_inputs(): return torch.ones(2, 3)"),
        ("example_input_array = None", "", "example_inputs = torch.ones(2, 3)"),
        ("example_inputs = {'z': torch.ones(2, 3)}", "", "example_inputs = torch.ones(2, 3)"),
        ("example_inputs = 1 / 1", "def dummy_inputs(self): return torch.ones(2, 3)", ""),
    ],
)
def test_declared_batches_are_found(file, attribute, method, after, tensors):
    path = file(DECLARED.format(attribute=attribute, method=method, after=after))
    report = attempt(path, tensors=tensors)
    assert report.status == "complete"
    if "1 / 1" in attribute and tensors == "real":  # one real run fails, and no other is tried
        assert report.inputs.origin == "inferred"
        assert any(w.startswith("the model's example_inputs was not used") for w in report.warnings)
        return
    assert report.inputs.origin == "declared"
    assert report.layers[0].inputs[0].shape == (2, 3)


def test_a_declaration_that_does_not_fit_is_dropped_with_a_note(file):
    path = file(DECLARED.format(
        attribute="example_inputs = torch.ones(2, 7)", method="",
        after="example_inputs = torch.ones(2, 3)"))  # fmt: skip
    result = run_cli("inspect", path, "-f", "json")
    report = result.report
    assert report["inputs"]["origin"] == "declared"
    assert report["status"] == "complete"
    assert len(report["warnings"]) == 1
    assert report["warnings"][0].startswith("the model's example_inputs was not used: RuntimeError")


def test_a_declaration_without_the_main_input_is_dropped(file):
    source = DECLARED.format(
        attribute="main_input_name = 'y'\n    dummy_inputs = {'x': torch.ones(2, 3)}",
        method="",
        after="",
    )
    report = attempt(file(source), tensors="fake")
    assert report.inputs.origin == "inferred"
    assert report.warnings == (
        "the model's dummy_inputs was not used: it does not contain 'y', the model's main input",
    )


def test_when_nothing_fits_the_declaration_s_own_error_is_reported(file):
    source = DECLARED.format(attribute="example_inputs = torch.ones(2, 7)", method="", after="")
    path = file(source.replace("return self.a(x)", "return self.a(x) + self.a(x[..., :0])"))
    result = run_cli("inspect", path)
    assert re.search(r"in 'a' \(Linear\): (addmm: )?mat1 and mat2", result.error()[0])
    assert "in place of the declared batch" in result.error()[2]
    assert result.status == 3


@pytest.mark.parametrize("tensors", ["real", "fake"])
def test_modes_dtype_and_grad(file, tensors):
    path = file(net("self.a = nn.Linear(3, 3)\nself.eval()\nself.a.train()",
                    "assert torch.is_grad_enabled() == GRAD\nreturn self.a(x)",
                    before="GRAD = True\n"))  # fmt: skip

    def flags(**run):
        return [row.training for row in attempt(path, "2x3", tensors=tensors, **run).layers]

    assert flags(mode="eval") == [False, False]
    assert flags(mode="train") == [True, True]
    assert flags(mode="as-is") == [False, True]
    half = attempt(path, "2x3", tensors=tensors, dtype="bfloat16")
    assert half.layers[0].inputs[0].dtype == "bfloat16"
    assert {row.dtype for row in half.parameters} == {"bfloat16"}
    assert attempt(path, "2x3", tensors=tensors, grad=False).error.type == "AssertionError"


def test_the_seed_decides_build_inputs_and_forward(file):
    path = file(net("import random, numpy as np\n"
                    "print('VALUES', random.random(), np.random.rand(), float(torch.rand(())))",
                    "import random, numpy as np\n"
                    "print('VALUES', float(x.sum()), random.random(), float(torch.rand(())))\n"
                    "return x"))  # fmt: skip
    runs = [
        [line for line in run_cli("inspect", path, "-i", "2x3", "--tensors", "real", "--seed", s)
         .err.splitlines() if "VALUES" in line]
        for s in ("0", "0", "1")
    ]  # fmt: skip
    assert runs[0] == runs[1] != runs[2]
    torch.manual_seed(0)
    expected = float(torch.randn(2, 3).sum())
    assert float(runs[0][-1].split()[1]) == expected


def test_failing_at_meta_is_no_verdict(file):
    """A constructor that raises for real is the model's fault; the error is the real one."""
    path = file(net("self.a = nn.Linear(3, 3)\nif not self.a.weight.is_meta: raise ValueError('x')",
                    "return x"))  # fmt: skip
    with pytest.raises(ModelError, match="cannot build Net: ValueError: x"):
        attempt(path, "2x3", tensors="real")
