"""Batches that nobody declared: what is found, in how many trials, and what is not guessed."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest
import torch

from hookcli.engine.attempt import Session
from hookcli.engine.batch import candidates
from hookcli.errors import NoBatchError
from hookcli.spec.inferred import command
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec
from tests.conftest import HEAD, SAMPLES, run_cli


@pytest.fixture(autouse=True)
def _undeclared(monkeypatch):
    monkeypatch.setattr(candidates, "declarations", lambda *_, **__: iter(()))


def found(source, *inputs, **run):
    """(the flags that would give the inferred batch, the session's result)."""
    spec = Spec("inspect", ModelSpec(str(source)), inputs=parse_inputs(inputs), run=RunSpec(**run))
    result = Session(spec, Attempt("fake"), lambda *_: None).run()
    return command(result.inferred), result


def net(init, signature, body):
    lines = "".join(f"        {line}\n" for line in init.splitlines())
    rest = "".join(f"        {line}\n" for line in body.splitlines())
    return (
        "from typing import List, Optional\nimport torch.nn.functional as F\n"
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}"
        f"    def forward(self, {signature}):\n{rest}"
    )


CASES = {
    "linear": ("self.a = nn.Linear(7, 2)", "x", "return self.a(x)", "-i 2x7"),
    "conv1d": ("self.a = nn.Conv1d(5, 2, 3)", "x", "return self.a(x)", "-i 2x5x64"),
    "conv2d": ("self.a = nn.Conv2d(4, 2, 3)", "x", "return self.a(x)", "-i 2x4x64x64"),
    "conv3d": ("self.a = nn.Conv3d(2, 2, 3)", "x", "return self.a(x)", "-i 2x2x16x32x32"),
    "transposed": ("self.a = nn.ConvTranspose2d(9, 2, 4)", "x", "return self.a(x)", "-i 2x9x8x8"),
    "embedding": ("self.a = nn.Embedding(11, 2)", "x", "return self.a(x)", "-i 2x16:int64:0..11"),
    "a table of its own": (
        "self.a = nn.Parameter(torch.zeros(7, 4))\nself.b = nn.Parameter(torch.zeros(1, 4))",
        "x", "return self.a[x] + self.b", "-i 2x16:int64:0..7",
    ),
    "lstm": ("self.a = nn.LSTM(6, 2, batch_first=True)", "x", "return self.a(x)", "-i 2x16x6"),
    "time first": ("self.a = nn.GRU(6, 2)", "x", "return self.a(x)", "-i 16x2x6"),
    "attention": ("self.a = nn.MultiheadAttention(8, 2, batch_first=True)", "x",
                  "return self.a(x, x, x)", "-i 2x16x8"),
    "any number of arguments": (
        "self.a = nn.Linear(7, 2)\nself.b = nn.Linear(5, 2)", "*xs",
        "x, y = xs\nreturn self.a(x) + self.b(y)", "-i 2x7 -i 2x5",
    ),
    "no dimension of samples": (
        "self.a = nn.LSTM(6, 2)", "x", "return self.a(x[None, None])[0]", "-i 6",
    ),
    "the ends of edges": (
        "self.a = nn.Linear(7, 2)", "x, src, dst",
        "y = self.a(x)\nreturn y.index_add(0, dst, y[src])",
        "-i 8x7 -i 16:int64:0..8 -i 16:int64:0..8",
    ),
    "a mapping in a mapping": (
        "self.a = nn.Linear(7, 2)\nself.b = nn.Linear(5, 2)", "batch",
        "return self.a(batch['x']) + self.b(batch['more']['y'])",
        "-i '{x: 2x7, more: {y: 2x5}}'",
    ),
    "a mapping in a mapping, on a line with two statements": (
        "self.a = nn.Linear(7, 2)", "batch", "x = batch['more']['x']; return self.a(x)",
        "-i '{more: {x: 2x7}}'",
    ),
    "a shape that is asserted": (
        "self.a = nn.Linear(7, 2)", "x, y",
        "assert y.shape == (len(x), 3, 9, 1)\nreturn self.a(x) + y.sum()", "-i 2x7 -i 2x3x9x1",
    ),
    "a sequence of features": (
        "self.a = nn.Linear(8, 4)", "x", "b, t, f = x.shape\nreturn self.a(x)", "-i 2x16x8",
    ),
    "lenet": (
        "self.a = nn.Conv2d(1, 6, 5)\nself.b = nn.Conv2d(6, 16, 5)\nself.c = nn.Linear(400, 10)",
        "x", "x = F.max_pool2d(self.a(x), 2)\nx = F.max_pool2d(self.b(x), 2)\n"
        "return self.c(x.flatten(1))", "-i 2x1x32x32",
    ),
    "mnist view": ("self.a = nn.Linear(784, 10)", "x", "return self.a(x.view(-1, 28 * 28))",
                   "-i 2x784"),
    "patches": (
        "self.p = nn.Conv2d(3, 8, 4, 4)\nself.pos = nn.Parameter(torch.zeros(1, 65, 8))\n"
        "self.cls = nn.Parameter(torch.zeros(1, 1, 8))", "x",
        "x = self.p(x).flatten(2).transpose(1, 2)\n"
        "return torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos", "-i 2x3x32x32",
    ),
    "two tables": (
        "self.a = nn.Embedding(100, 4)\nself.b = nn.Embedding(50, 4)", "src, tgt",
        "return self.a(src) + self.b(tgt)", "-i 2x16:int64:0..100 -i 2x16:int64:0..50",
    ),
    "ids and a mask": (
        "self.a = nn.Embedding(100, 4)", "input_ids, attention_mask",
        "return self.a(input_ids) * attention_mask[..., None]",
        "-i 2x16:int64:0..100 -i 2x16:int64:ones",
    ),
    "image and text": (
        "self.i = nn.Conv2d(3, 4, 3)\nself.t = nn.Embedding(9, 4)", "image, text",
        "return self.i(image).mean((2, 3)) @ self.t(text).mean(1).T",
        "-i 2x3x64x64 -i 2x16:int64:0..9",
    ),
    "a timestep": (
        "self.a = nn.Conv2d(3, 4, 3)\nself.t = nn.Embedding(1000, 4)", "x, t",
        "return self.a(x) + self.t(t)[:, :, None, None]", "-i 2x3x64x64 -i 2:int64:0..1000",
    ),
    "optional ones left out": (
        "self.a = nn.Linear(3, 2)", "x, mask=None, labels=None", "return self.a(x)", "-i 2x3",
    ),
    "keyword only": ("self.a = nn.Linear(3, 2)", "*, x, scale: float", "return self.a(x) * scale",
                     "-i x=2x3 -i scale=value:1.0"),
    "a list of tensors": ("self.a = nn.Linear(3, 2)", "xs: List[torch.Tensor]",
                          "return [self.a(x) for x in xs]", "-i '[3, 3]'"),
    "nodes and edges": (
        "self.a = nn.Linear(5, 2)", "x, edge_index",
        "return self.a(torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]]))",
        "-i 8x5 -i 2x16:int64:0..8",
    ),
    "noise": ("self.a = nn.ConvTranspose2d(100, 2, 4)", "z", "return self.a(z)", "-i 2x100x1x1"),
    "a waveform": ("self.a = nn.Conv1d(1, 4, 80, 4)", "waveform", "return self.a(waveform)",
                   "-i 2x1x16000"),
    "a wrapped model": (
        "self.m = nn.Sequential(nn.Sequential(nn.Conv2d(1, 2, 3)))", "*args, **kwargs",
        "return self.m(*args, **kwargs)", "-i 2x1x64x64",
    ),
    "what only values decide": ("self.a = nn.Linear(3, 2)", "x",
                                "x = self.a(x)\nreturn x[x > 0]", "-i 2x3"),
}  # fmt: skip
# Cases with sizes that take several trials to find.
SIZES = {
    "a hard-coded grid that is not square": (
        "self.a = nn.Conv2d(1, 4, 3, 2, 1)\nself.b = nn.Linear(12, 5)", "x",
        "return self.b(self.a(x).view(x.shape[0], 4, 16, 12))", "-i 2x1x32x24",
    ),
    "positions on a grid that is not square": (
        "self.a = nn.Conv2d(3, 8, 7, 7)\nself.p = nn.Parameter(torch.zeros(8, 5, 12))", "x",
        "return self.a(x) + self.p", "-i 2x3x35x84",
    ),
    "a cropped image of many rows": (
        "self.a = nn.Conv2d(1, 4, 5, 2)\nself.b = nn.Linear(4 * 3 * 3, 7)", "x",
        "return self.b(self.a(x).view(-1, 36))", "-i 2x1x10x10",
    ),
    "a sequence for a wide kernel": (
        "self.a = nn.Conv1d(4, 4, 3, dilation=64)", "x", "return self.a(x)", "-i 2x4x256",
    ),
    "an assertion about a size": (
        "self.a = nn.Conv1d(4, 8, 3, 2, 1)\nself.p = nn.Parameter(torch.zeros(75, 8))", "x",
        "x = self.a(x).mT\nassert x.shape[1:] == self.p.shape, 'wrong size'\nreturn x + self.p",
        "-i 2x4x150",
    ),
    "one sample without a batch": (
        "self.a = nn.Linear(6, 2)", "x", "t, f = x.shape\nreturn self.a(x[None]).view(t, 2)",
        "-i 2x6",
    ),
    "a state": (
        "self.a = nn.GRU(6, 4, 2, bidirectional=True)", "x, hidden", "return self.a(x, hidden)",
        "-i 16x2x6 -i 4x2x4",
    ),
    "frames, by the sizes that forward unpacks": (
        "self.a = nn.Conv2d(3, 2, 5, 4)\nself.b = nn.LSTM(2 * 15 * 15, 4, batch_first=True)", "x",
        "b, t, c, h, w = x.size()\ny = self.a(x.view(b * t, c, h, w)).view(b, t, -1)\n"
        "return self.b(y)[0]",
        "-i 2x8x3x64x64",
    ),
    "shots of a class": (
        "self.a = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))", "x",
        "return self.a(x.reshape(-1, *x.shape[2:]))", "-i 1x4x1x64x64",
    ),
    "a state of two": (
        "self.a = nn.LSTM(6, 4, batch_first=True)", "x, state", "return self.a(x, state)",
        "-i 2x16x6 -i '[1x2x4, 1x2x4]'",
    ),
    "a state in two parts": (
        "self.a = nn.LSTM(6, 4)", "x, first, second", "return self.a(x, (first, second))",
        "-i 16x2x6 -i 1x2x4 -i 1x2x4",
    ),
    "a mapping": (
        "self.a = nn.Linear(6, 2)\nself.e = nn.Embedding(9, 2)", "batch",
        "return self.a(batch['x']) + self.e(batch['token_ids']).mean(1)",
        "-i '{x: 2x6, token_ids: 2x16:int64:0..9}'",
    ),
    "a tuple that is unpacked": (
        "self.a = nn.Linear(6, 2)\nself.b = nn.Linear(8, 2)", "pair",
        "x, y = pair\nreturn self.a(x) + self.b(y)", "-i '[2x6, 2x8]'",
    ),
    "inputs that are concatenated": (
        "self.a = nn.Linear(7, 2)", "s, u, v",
        "return self.a(torch.cat([s, u, v], 1))", "-i 2x3 -i 2x2 -i 2x2",
    ),
    "columns of two tables": (
        "self.a = nn.Embedding(50, 4)\nself.b = nn.Embedding(7, 4)", "x",
        "return self.a(x[:, 0]) + self.b(x[:, 1])", "-i 2x16:int64:0..7",
    ),
    "more neighbours than there are": (
        "self.a = nn.Linear(3, 2)", "x",
        "b, n, c = x.shape\nreturn self.a(x)[:, :, 0].topk(24)[0]", "-i 2x32x3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_are_found_by_probing(name, tmp_path):
    init, signature, body, flags = SIZES[name]
    (tmp_path / "net.py").write_text(HEAD + net(init, signature, body))
    got, result = found(tmp_path / "net.py")
    assert got == flags
    assert len(result.trials) <= 64


@pytest.mark.parametrize("name", CASES)
def test_what_is_found(name, tmp_path):
    init, signature, body, flags = CASES[name]
    (tmp_path / "net.py").write_text(HEAD + net(init, signature, body))
    got, result = found(tmp_path / "net.py")
    assert got == flags
    assert result.report.inputs.origin == "inferred"
    assert len(result.trials) <= 10


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.py")), ids=lambda p: p.stem)
def test_every_sample_runs_for_real_on_what_is_found(path):
    _, result = found(path)
    spec = importlib.util.spec_from_file_location(f"inferred_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    model = getattr(module, module.EXPECTED["type"])().eval()
    from hookcli.inputs.materialise import make_tensor

    args, kwargs = result.inferred.map(lambda _, s: make_tensor(s, torch.float32, "cpu"))
    model(*args, **kwargs)


def test_most_of_the_zoo_is_found():
    from tests.odd_models import ODD

    source = SAMPLES.parent / "tests" / "odd_models" / "source.py"
    lost = []
    for name in ODD:
        try:
            found(f"{source}:{name}")
        except Exception:
            lost.append(name)
    assert len(lost) <= 0.12 * len(ODD), lost


def test_what_was_inferred_has_its_reasons(tmp_path):
    init, signature, body, _ = SIZES["a hard-coded grid that is not square"]
    (tmp_path / "net.py").write_text(HEAD + net(init, signature, body))
    *_, last = found(tmp_path / "net.py")[1].trials
    assert last.startswith("inferred: names and layers; then x ")
    assert "→ 2x1x32x24" in last
    assert re.search(r"expects 1536, got \d+", last)  # 2 * 4 * 16 * 12


def test_an_assertion_that_compares_no_sizes_is_not_evaluated_again(tmp_path):
    body = "assert self.count(), 'never'\nreturn self.a(x)"
    more = "\n    calls = 0\n    def count(self):\n        Net.calls += 1\n        return False\n"
    source = HEAD + net("self.a = nn.Linear(7, 2)", "x", body) + more
    source += "\nimport atexit\n"
    (tmp_path / "net.py").write_text(source)
    with pytest.raises(NoBatchError) as caught:
        found(tmp_path / "net.py")
    module = next(
        m for m in sys.modules.values() if getattr(m, "__file__", "") == str(tmp_path / "net.py")
    )
    assert module.Net.calls == len(caught.value.details.splitlines())


def test_the_number_of_samples_is_the_user_s(tmp_path):
    (tmp_path / "net.py").write_text(
        HEAD + net("self.a = nn.Linear(7, 2)", "x", "return self.a(x)")
    )
    assert found(tmp_path / "net.py", batch_size=5)[0] == "-i 5x7"


def test_a_partial_input_is_completed_and_stands(tmp_path):
    init, signature, body, _ = CASES["image and text"]
    (tmp_path / "net.py").write_text(HEAD + net(init, signature, body))
    got, _ = found(tmp_path / "net.py", "text=4x7:int64:0..9")
    assert got == "-i 2x3x64x64 -i 4x7:int64:0..9"
    assert found(tmp_path / "net.py", "1x3x20x20")[0] == "-i 1x3x20x20 -i 2x16:int64:0..9"


def test_a_model_that_calls_itself_without_end_is_not_a_matter_of_the_batch(tmp_path):
    source = net("self.a = nn.Linear(7, 7)", "x", "return self(self.a(x))")
    (tmp_path / "net.py").write_text(f"{HEAD}import sys\nsys.setrecursionlimit(400)\n{source}")
    result = run_cli("inspect", f"{tmp_path}/net.py:Net", "-v")
    assert result.status == 3
    assert result.err.count("RecursionError: ") <= 8  # 3 trials of 256, and the run
    assert "error: RecursionError in forward" in result.err
    assert "hint: look for a module that calls itself, or a parent" in result.err
    assert "[2, 7]  (inferred" in result.out


def test_a_recursion_that_only_fake_tensors_do_not_survive_runs(tmp_path):
    body = "return self(self.a(x), depth + 1) if depth < 100 else x"
    source = net("self.a = nn.Linear(7, 7)", "x, depth=0", body)
    (tmp_path / "net.py").write_text(f"{HEAD}{source}")
    result = run_cli("inspect", f"{tmp_path}/net.py:Net")
    assert result.status == 0, result.err
    assert "[2, 7]  (inferred" in result.out


def test_what_cannot_be_found_is_said_with_what_was_tried(tmp_path):
    body = "raise ValueError('nothing pleases me')"
    (tmp_path / "net.py").write_text(HEAD + net("self.a = nn.Linear(7, 2)", "x", body))
    with pytest.raises(
        NoBatchError, match=r"all with ValueError at line \d+: nothing pleases me"
    ) as caught:
        found(tmp_path / "net.py")
    assert caught.value.hint == "pass a batch that fits line 10, in the form of `-i 2x7`"
    assert "trial 0: -i 2x7" in caught.value.details


def test_the_error_shows_the_structure_that_got_furthest_and_the_layer(tmp_path):
    body = "y = self.a(batch['x'])\nreturn self.b(y[..., :y.shape[-1] // 2])"
    source = net("self.a = nn.Linear(7, 4)\nself.b = nn.Linear(9, 1)", "batch", body)
    (tmp_path / "net.py").write_text(HEAD + source)
    with pytest.raises(
        NoBatchError, match=r"the best one with RuntimeError in 'b' \(Linear\)"
    ) as e:
        found(tmp_path / "net.py")
    assert e.value.hint == "pass a batch that fits 'b', in the form of `-i '{x: 2x7}'`"


@pytest.mark.parametrize(
    ("init", "body", "shape"),
    [
        ("self.a = [nn.Linear(7, 7), nn.Linear(7, 2)]", "return self.a[1](self.a[0](x))", "[2, 7]"),
        (
            "self.a = nn.LazyConv2d(2, 3)\nself.b = nn.LazyLinear(5)",
            "return self.b(self.a(x).flatten(1))",
            "[2, 3, 64, 64]",
        ),
        (
            "self.a = nn.LazyBatchNorm1d()\nself.b = nn.LazyLinear(5)",
            "return self.b(self.a(x))",
            "[2, 16]",
        ),
    ],
    ids=["layers in a plain list", "lazy layers", "a lazy batch norm"],
)
def test_real_tensors_are_tried_where_the_model_mixes_fake_ones_with_its_own(
    init, body, shape, tmp_path
):
    (tmp_path / "net.py").write_text(HEAD + net(init, "x", body))
    result = run_cli("inspect", f"{tmp_path}/net.py:Net")
    assert result.status == 0, result.err
    assert f"{shape}  (inferred)" in result.out
    assert "the model mixes them with real ones" in " ".join(result.out.split())


def test_ids_that_a_model_moves_beyond_its_table_become_smaller(tmp_path):
    body = "return self.a(x + torch.tensor([0, 3])).sum(1)"
    (tmp_path / "net.py").write_text(HEAD + net("self.a = nn.Embedding(5, 4)", "x", body))
    result = run_cli("grads", f"{tmp_path}/net.py:Net", "-f", "json")
    assert result.status == 0, result.err


def test_real_tensors_take_what_fake_ones_found(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + net(*CASES["lenet"][:3]))
    result = run_cli("inspect", tmp_path / "net.py", "--tensors", "real", "-f", "json", "-v")
    assert result.report["run"]["tensors"] == "real"
    assert result.report["inputs"]["origin"] == "inferred"
    assert result.report["inputs"]["args"] == [{"shape": [2, 1, 32, 32], "dtype": "float32"}]
    assert "note: trial 0: " in result.err


def test_a_fallback_keeps_the_inferred_batch(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + net(*CASES["what only values decide"][:3]))
    report = run_cli("inspect", tmp_path / "net.py", "-f", "json").report
    assert report["status"] == "complete"
    assert report["run"]["tensors"] == "real"
    assert report["inputs"]["origin"] == "inferred"


NORMS = {
    "BatchNorm1d": ((8,), (2, 8), "-i 2x8"),
    "BatchNorm2d": ((8,), (2, 8, 9, 9), "-i 2x8x64x64"),
    "BatchNorm3d": ((8,), (2, 8, 9, 9, 9), "-i 2x8x16x32x32"),
    "InstanceNorm2d": ((8,), (2, 8, 9, 9), None),
    "GroupNorm": ((2, 8), (2, 8, 9, 9), "-i 2x8x64x64"),
    "LayerNorm": ((8,), (2, 8), "-i 2x16x8"),
    "RMSNorm": ((8,), (2, 8), "-i 2x16x8"),
    "Bilinear": ((4, 5, 6), ((2, 4), (2, 5)), None),
}


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_a_traced_layer_has_the_sizes_of_its_weights_or_none(name, affine, tmp_path):
    """It is no defect of hookcli that a traced layer has no constants, and perhaps no weights."""
    arguments, shape, expected = NORMS[name]
    key = {"LayerNorm": "elementwise_affine", "RMSNorm": "elementwise_affine"}.get(name, "affine")
    options = {"bias": affine} if name == "Bilinear" else {key: affine}
    layer = getattr(torch.nn, name)(*arguments, **options).eval()
    batch = [torch.randn(s) for s in (shape if isinstance(shape[0], tuple) else (shape,))]
    file = tmp_path / "net.pt"
    torch.jit.trace(layer, batch).save(str(file))
    try:
        flags, _ = found(file)
    except NoBatchError:
        flags = None
    assert flags == expected or not affine or expected is None


SIZELESS = """
class Odd(nn.{kind}):
    def __init__(self):
        nn.Module.__init__(self)

    def forward(self, x):
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Odd(), nn.Linear(7, 2)

    def forward(self, x):
        return self.b(self.a(x))
"""


@pytest.mark.parametrize(
    "kind", ["Linear", "Conv2d", "Embedding", "LSTM", "GRUCell", "LayerNorm", "BatchNorm2d",
             "GroupNorm", "MultiheadAttention", "Bilinear"],
)  # fmt: skip
def test_a_subclass_without_the_sizes_of_its_class_gives_no_clue(kind, tmp_path):
    (tmp_path / "net.py").write_text(HEAD + SIZELESS.format(kind=kind))
    flags, _ = found(f"{tmp_path / 'net.py'}:Net")
    assert flags == "-i 2x7"


UNFIT = net(
    "self.a = nn.Conv2d(3, 4, 3, stride=2)",
    "x, steps",
    "return torch.cat([self.a(x), self.a(x[:, :, 1:, 1:])], 1) + steps",
)


def test_the_error_says_that_given_inputs_were_kept(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + UNFIT)
    with pytest.raises(
        NoBatchError, match=r"^no batch with the given `--input` fits Net; "
    ) as error:
        found(f"{tmp_path / 'net.py'}:Net", "2x3x63x63")
    assert error.value.hint == "pass `--input` for every argument of forward(x, steps)"


def test_a_model_that_ends_each_process_that_tries_a_batch_is_told(tmp_path):
    body = "import os\nos.abort()"
    (tmp_path / "net.py").write_text(HEAD + net("self.a = nn.Linear(7, 2)", "x", body))
    result = run_cli("inspect", f"{tmp_path}/net.py:Net")
    assert result.status == 2
    assert "; the process that tried inferred batches ended early\n" in result.err


STEPS = {
    "it unpacks": (
        "x, y = batch\nreturn F.cross_entropy(self.a(x), y)",
        "[float32 [2, 7], int64 [2]]",
    ),
    "it reads by key": (
        "return F.mse_loss(self.a(batch['x']).squeeze(1), batch['y'])",
        "{y: float32 [2], x: float32 [2, 7]}",
    ),
    "it passes on": ("return self(**batch)", "{x: float32 [2, 7], labels: int64 [2]}"),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_batch_of_training_step_is_inferred(name, tmp_path):
    body, expected = STEPS[name]
    inner = (
        "class Inner(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(7, 3)\n"
        "    def forward(self, x, labels):\n        return F.cross_entropy(self.a(x), labels)\n"
    )
    width = 1 if "key" in name else 3
    source = net(f"self.a = nn.Linear(7, {width})", "x", "return self.a(x)")
    if "passes" in name:
        source = inner + net("self.inner = Inner()", "x", "return self.inner(x, None)")
        body = "return self.inner(**batch)"
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    step = f"    def training_step(self, batch, batch_idx):\n{lines}"
    (tmp_path / "net.py").write_text(f"import torch.nn.functional as F\n{HEAD}{source}{step}")
    result = run_cli("grads", f"{tmp_path}/net.py:Net", "--loss", "training_step")
    assert result.status == 0, result.err
    assert expected in result.out


@pytest.mark.parametrize(
    "body",
    [
        "return sum(a(x).mean() for a, x in zip(self.a, maps))",
        "return sum(a(x).mean() for x, a in zip(maps, self.a))",
        "y = 0\nfor i, x in enumerate(maps):\n    y = y + self.a[i](x).mean()\nreturn y",
    ],
    ids=["zip", "zip of the list first", "enumerate"],
)
@pytest.mark.parametrize("own", ["self", "s"])
def test_a_list_has_an_item_for_each_layer_that_takes_one(body, own, tmp_path):
    init = "self.a = nn.ModuleList(nn.Conv2d(c, 4, 1) for c in (2, 5, 7))"
    source = net(init, "maps", body).replace("self", own)
    (tmp_path / "net.py").write_text(HEAD + source)
    flags, _ = found(f"{tmp_path}/net.py:Net")
    assert "[2x2x64x64, 2x5x64x64, 2x7x64x64]" in flags
