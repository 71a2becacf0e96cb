"""Runs with fake tensors do not import torch's compiler, and nobody notices the difference."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator, Set

import pytest
import torch
from hypothesis import given, settings, strategies as st

from hookcli.models.fake import lazy_compiler

MODELS = """
import torch
from torch import nn

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(50, 8), nn.LSTM(8, 8, 2, batch_first=True)
    def forward(self, tokens):
        return self.lstm(self.embedding(tokens))[0].mean(1)

class Upsampling(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 8, 3, 2, 1), nn.ConvTranspose2d(8, 3, 2, 2)
        self.norm = nn.GroupNorm(2, 8)
    def forward(self, x):
        y = self.up(torch.relu(self.norm(self.down(x))))
        return torch.cat([x, nn.functional.interpolate(y, scale_factor=2)[..., :32, :32]], 1)

def convolutional():
    return nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                         nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))

MODELS = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Dropout(), nn.Linear(8, 2)),
                   "2x8"),
    "convolutional": (convolutional, "2x3x32x32"),
    "recurrent": (Recurrent, "2x7:int64:0..50"),
    "upsampling": (Upsampling, "1x3x32x32"),
    "attention": (lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2), "2x5x16"),
}
build = {name: pair[0] for name, pair in MODELS.items()}
"""


def run(code: str) -> str:
    """Run the code in a new process and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plain_models_do_not_import_the_compiler(tmp_path):
    (tmp_path / "zoo.py").write_text(
        MODELS + "globals().update({f'make_{n}': b for n, b in build.items()})\n"
    )
    told = run(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from hookcli.models.fake import lazy_compiler
        from hookcli.engine.attempt import Session
        from hookcli.spec.inputs import parse_inputs
        from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec
        import zoo
        lazy_compiler.install(fake=True)
        for name, (_, batch) in zoo.MODELS.items():
            model = ModelSpec(f"{tmp_path}/zoo.py:make_{{name}}", (), None)
            spec = Spec("inspect", model, inputs=parse_inputs((batch,)), run=RunSpec())
            report = Session(spec, Attempt("fake"), lambda *_: None).run().report
            assert report.error is None, (name, report.error)
            assert report.run.tensors == "fake"
            for module in ("torch._inductor", "torch._dynamo.eval_frame", "sympy.core",
                           "torch.distributed.tensor._api"):
                assert module not in sys.modules, (name, module)
            print(name)
        """)
    assert [line.split()[0] for line in told.splitlines()] == [
        "perceptron", "convolutional", "recurrent", "upsampling", "attention"
    ]  # fmt: skip


def test_other_code_gets_the_real_modules():
    run("""
        import importlib.util, sys
        import torch
        from hookcli.models.fake import lazy_compiler
        lazy_compiler.install(fake=True)
        assert importlib.util.find_spec("sympy") and importlib.util.find_spec("torch._dynamo")
        torch._dynamo.config.suppress_errors = True
        assert not lazy_compiler.compiler_is_imported()
        import sympy
        assert str(sympy.Symbol("x") + 1) == "x + 1" and sympy.__version__
        class Expression(sympy.Basic): pass
        assert sympy.Basic in Expression.__mro__ and isinstance(sympy.Symbol("x"), sympy.Basic)
        import torch._dynamo.utils
        assert lazy_compiler.compiler_is_imported()
        assert torch._dynamo.config.suppress_errors is True
        from torch.fx.experimental.symbolic_shapes import ShapeEnv, guard_or_false
        assert guard_or_false.__module__ == ShapeEnv.__module__
        from torch.distributed.tensor import DTensor
        assert issubclass(DTensor, torch.Tensor)
        compiled = torch.compile(torch.nn.Linear(2, 2), backend="eager")
        assert compiled(torch.ones(1, 2)).shape == (1, 2)
        assert isinstance(compiled, torch._dynamo.OptimizedModule)
        """)


def test_attributes_are_set_on_the_real_module():
    run("""
        import torch
        from hookcli.models.fake import lazy_compiler
        lazy_compiler.install(fake=False)
        import torch.fx.experimental.symbolic_shapes as shapes
        shapes.set_by_a_model = 3
        assert lazy_compiler.compiler_is_imported() is False
        from torch.fx.experimental import symbolic_shapes
        assert symbolic_shapes.set_by_a_model == 3 and symbolic_shapes.ShapeEnv
        import torch.distributed.tensor
        assert issubclass(torch.distributed.tensor.DTensor, torch.Tensor)
        """)


def test_an_imported_compiler_stays():
    run("""
        import sys
        import torch._dynamo
        real = sys.modules["torch._dynamo"]
        from hookcli.models.fake import lazy_compiler
        lazy_compiler.install(fake=True)
        assert sys.modules["torch._dynamo"] is real and lazy_compiler.compiler_is_imported()
        """)


def _result(function, args):
    try:
        result = function(*args)
    except Exception as error:  # the real functions refuse values of other types
        return type(error)
    return list(result) if isinstance(result, Iterator | Set) else result


SIZES = st.recursive(st.integers(-3, 5), lambda inner: st.lists(inner, max_size=3).map(tuple))
TENSORS = st.lists(st.integers(0, 3), max_size=3).map(lambda shape: torch.empty(shape))
STATIC = st.one_of(st.booleans(), st.integers(-3, 5), st.floats(allow_nan=False), SIZES, TENSORS)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("name", sorted(lazy_compiler._STATIC))
def test_functions_for_static_values_are_those_of_torch(name, data):
    shapes = importlib.import_module("torch.fx.experimental.symbolic_shapes")
    real = getattr(shapes, name, None)
    if real is None:
        pytest.skip(f"this torch has no {name}")
    is_static, _ = lazy_compiler._STATIC[name]
    count = data.draw(st.integers(1, 3)) if name in {"sym_and", "sym_or"} else 1
    count = 2 if name in {"sym_eq", "compute_unbacked_bindings"} else count
    args = [data.draw(STATIC) for _ in range(count)]
    if name == "compute_unbacked_bindings":
        args[0] = None  # no ShapeEnv: nothing is symbolic
    function = lazy_compiler._for_static(name, *lazy_compiler._STATIC[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # guard_size_oblivious is deprecated
        expected = _result(real, args)
    if all(map(is_static, args)):
        assert _result(function, args) == expected


@pytest.mark.parametrize(
    ("module", "is_operator"),
    [
        ("torch", True), ("torch._refs", True), ("torch._refs.nn.functional", True),
        ("torch.distributed.tensor", False), ("torchvision", False), ("torch_model", False),
        ("torchvision._refs", False), ("net", False), ("", False), (None, False),
    ],
)  # fmt: skip
def test_only_operators_of_torch_get_the_names(module, is_operator):
    assert lazy_compiler._is_operator(module) is is_operator
