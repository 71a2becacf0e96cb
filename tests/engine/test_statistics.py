"""Statistics of tensors, against float64 done plainly beside them."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import weakref

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from hookcli.engine.statistics import statistics as module
from hookcli.engine.statistics.chunks import SIZE, chunks, compact
from hookcli.engine.statistics.cpu import on_cpu, quick_norm, quick_norm_of_sum
from hookcli.engine.statistics.elements import on_device
from hookcli.engine.statistics.moments import Elements, Moments
from hookcli.engine.statistics.statistics import norm_of, norm_of_change, norm_of_sum, statistics
from tests.conftest import ROOT
from tests.torch_version import needs_torch

inf, nan = math.inf, math.nan
KEYS = ["numel", "norm", "mean", "std", "min", "max", "abs_max", "zeros", "nans", "infs"]
FIGURES = KEYS[1:7]

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
EIGHTS = [
    torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz,
]  # fmt: skip
UNSIGNED_EIGHT = getattr(torch, "float8_e8m0fnu", None)  # torch 2.7
EIGHTS += [UNSIGNED_EIGHT] if UNSIGNED_EIGHT is not None else []
SIGNED = [torch.int8, torch.int16, torch.int32, torch.int64]
UNSIGNED = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]
COMPLEX = [torch.complex128, torch.complex64, torch.complex32]
REAL = [*FLOATS, *EIGHTS, *SIGNED, *UNSIGNED, torch.bool]
# Each side of every border between two ways of computing.
SIZES = [1, 2, 3, 127, 128, 129, 1023, 2048, 2049, 8191, 8193, 32769, 100_001, SIZE + 1]

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*ComplexHalf"),
    pytest.mark.filterwarnings("ignore:.*quantized tensor creation"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),
    pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def values(dtype, *shape, seed=0):
    """Numbers of a dtype, positive and negative where it has both, some of them zero."""
    given = torch.randn(*shape, generator=generator(seed), dtype=torch.float64) * 3
    given[given.abs() < 0.3] = 0.0
    if dtype.is_complex:
        other = torch.randn(*shape, generator=generator(seed + 1), dtype=torch.float64)
        return torch.complex(given, torch.where(given == 0, 0.0, other)).to(dtype)
    if dtype in UNSIGNED or dtype is UNSIGNED_EIGHT:
        given = given.abs()
    return given.to(dtype)


def reference(tensor):
    """Every figure the plain way, over the float64 copy of a dense tensor."""
    t = tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64)
    t = t.abs() if t.is_complex() else t
    t = t.reshape(-1)
    n = t.numel()
    return {
        "numel": n,
        "norm": t.norm().item() if n else 0.0,
        "mean": t.mean().item() if n else None,
        "std": t.std().item() if n > 1 else None,
        "min": t.min().item() if n else None,
        "max": t.max().item() if n else None,
        "abs_max": t.abs().max().item() if n else None,
        "zeros": int((t == 0).sum()),
        "nans": int(t.isnan().sum()),
        "infs": int(t.isinf().sum()),
    }


def assert_close(found, expected, *, share=1e-6, scale=0.0):
    for key in KEYS:
        a, b = found[key], expected[key]
        if b is None or key in {"numel", "zeros", "nans", "infs", "min", "max"}:
            assert a == b or (a != a and b != b), (key, found, expected)
        elif key == "mean":  # may cancel to nothing: relative to what was summed
            assert a == pytest.approx(b, rel=share, abs=share * scale), (key, found, expected)
        else:  # relative to the size of the elements, which may be tiny
            unit = 1e-14 * expected["abs_max"] if key == "std" else 0
            assert a == pytest.approx(b, rel=share, abs=unit, nan_ok=True), (key, found, expected)


def check(tensor, dense=None, share=1e-6):
    found = statistics(tensor)
    expected = reference(tensor if dense is None else dense)
    assert list(found) == KEYS
    if (tensor if dense is None else dense).is_complex():
        expected |= dict.fromkeys(("mean", "std", "min", "max"))
    n = expected["numel"]
    assert_close(found, expected, share=share, scale=expected["norm"] / math.sqrt(n) if n else 0)
    return found


# --- against the reference ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX], ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_every_dtype_and_size(dtype, size):
    check(values(dtype, size))


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX], ids=str)
def test_empty_and_scalar(dtype):
    assert statistics(values(dtype, 0, 3)) == {
        "numel": 0, "norm": 0.0, **dict.fromkeys(FIGURES[1:]), "zeros": 0, "nans": 0, "infs": 0,
    }  # fmt: skip
    one = check(values(dtype, 1).reshape(()))
    assert one["std"] is None
    assert one["numel"] == 1


@settings(deadline=None, max_examples=300)
@given(
    data=st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=1),
    times=st.sampled_from([1, 1, 3, 200, 9001]),
    dtype=st.sampled_from(FLOATS),
)
def test_any_floats_in_any_number(data, times, dtype):
    tensor = torch.tensor(data, dtype=torch.float64).to(dtype).repeat(times)
    found = statistics(tensor)
    wide = tensor.double()
    finite = wide[wide.isfinite()]
    assert found["nans"] == wide.isnan().sum()
    assert found["infs"] == wide.isinf().sum()
    assert found["zeros"] == (wide == 0).sum()
    assert ("finite" in found) == (finite.numel() < wide.numel())
    part = found.get("finite", found)
    if not finite.numel():
        assert part == dict.fromkeys(FIGURES)
        return
    expected = reference(finite)
    unit = expected["abs_max"]
    for key in ("min", "max", "abs_max"):
        assert part[key] == expected[key]
    assert part["norm"] == pytest.approx(expected["norm"], rel=1e-6, abs=0)
    assert part["mean"] == pytest.approx(expected["mean"], rel=1e-5, abs=1e-7 * unit)
    if finite.numel() > 1:
        # what float64 itself leaves of a spread beside a large mean
        assert part["std"] == pytest.approx(expected["std"], rel=1e-5, abs=1e-14 * unit)


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_any_strides(data):
    shape = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    tensor = values(torch.float32, *shape, seed=len(shape))
    for _ in range(data.draw(st.integers(0, 4))):
        move = data.draw(st.sampled_from(["permute", "slice", "step", "expand", "unfold"]))
        dim = data.draw(st.integers(0, tensor.dim() - 1))
        if move == "permute":
            tensor = tensor.permute(data.draw(st.permutations(range(tensor.dim()))))
        elif move == "slice":
            start = data.draw(st.integers(0, tensor.shape[dim] - 1))
            tensor = tensor.narrow(dim, start, tensor.shape[dim] - start)
        elif move == "step":
            tensor = tensor.movedim(dim, 0)[:: data.draw(st.integers(1, 3))]
        elif move == "expand" and tensor.dim() < 6:
            tensor = tensor.unsqueeze(dim).expand(
                *tensor.shape[:dim], data.draw(st.integers(1, 5)), *tensor.shape[dim:]
            )
        elif move == "unfold" and tensor.dim() < 6:
            tensor = tensor.unfold(dim, data.draw(st.integers(1, tensor.shape[dim])), 1)
    check(tensor)
    view, times = compact(tensor)
    size = data.draw(st.integers(1, 40))
    parts = list(chunks(view, size))
    assert all(0 < part.numel() <= size for part in parts)
    mine = torch.cat([part.reshape(-1) for part in parts]).repeat(times)
    assert mine.sort().values.equal(tensor.reshape(-1).sort().values)


LARGE = values(torch.float32, 700, 900, seed=5)
LAYOUTS = {
    "transposed": LARGE.t(),
    "transposed slice": LARGE.t()[:, 7:600],
    "every second": LARGE[:, ::2],
    "every second, flat": LARGE.view(-1)[::2],
    "expanded": LARGE[:300, :1].expand(300, 40),
    "expanded scalar": torch.tensor(2.5).expand(1000, 1000),
    "channels_last": LARGE[:640].reshape(4, 160, 30, 30).to(memory_format=torch.channels_last),
    "long rows, cut": torch.randn(3, SIZE + 9, generator=generator())[:, 4:],
    "overlapping": LARGE.view(-1)[:400].unfold(0, 300, 1),
    "doubles, every second": LARGE.double()[::2, ::2],
    "halves, transposed": LARGE.half().t()[3:],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_strided_layouts(name):
    check(LAYOUTS[name])


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX], ids=str)
def test_every_dtype_out_of_order(dtype):
    check(values(dtype, 150, 90).t()[1:, 3:])


def test_ten_million():
    tensor = torch.randn(10_000_000, generator=generator())
    tensor[::7] = 0
    check(tensor, share=1e-7)


@pytest.mark.parametrize("size", [100, 5_000, 300_000])
def test_a_large_mean_beside_a_small_spread(size):
    check(torch.randn(size, generator=generator()) + 1e4, share=1e-7)
    check(torch.randn(size, generator=generator(), dtype=torch.float64) + 1e10, share=1e-7)


@pytest.mark.parametrize("size", [1, 100, 5_000, 300_000])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e-30, -2e30])
def test_constants_have_no_spread(size, value):
    found = check(torch.full((size,), value))
    assert found["std"] == (0.0 if size > 1 else None)


@pytest.mark.parametrize("size", [50, 5_000, 300_000])
@pytest.mark.parametrize(
    ("dtype", "unit"),
    [(torch.float32, 1e-30), (torch.float32, 1e-44), (torch.float32, 1e25), (torch.float32, 2e37),
     (torch.bfloat16, 1e-30), (torch.bfloat16, 1e37), (torch.float16, 6e-8), (torch.float16, 4e3)],
    ids=str,
)  # fmt: skip
def test_tiny_and_huge(dtype, unit, size):
    check((values(torch.float64, size) * unit).to(dtype))


@pytest.mark.parametrize("size", [50, 5_000, 300_000])
@pytest.mark.parametrize("power", [-1030, -1000, -600, 600, 1008])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_doubles_whose_squares_leave_the_range(size, power, shift):
    plain = (values(torch.float64, size) * 8).round() / 8 + shift
    found = statistics(plain / 16 * 2.0**power if power > 0 else plain * 2.0**power)
    power -= 4 if power > 0 else 0
    expected = reference(plain)
    for key in FIGURES:
        assert math.ldexp(found[key], -power) == pytest.approx(expected[key], rel=1e-9, abs=1e-14)
    assert found["zeros"] == expected["zeros"]


# --- literal values ----------------------------------------------------------------------------


def same(a, b):
    return a == b or (a != a and b != b)


@pytest.mark.parametrize("times", [1, 100, 100_000], ids=["few", "many", "chunks"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([inf, 1.0], (inf, inf, nan, 1.0, inf, inf)),
        ([-inf, 1.0], (inf, -inf, nan, -inf, 1.0, inf)),
        ([inf, -inf], (inf, nan, nan, -inf, inf, inf)),
        ([inf, inf], (inf, inf, nan, inf, inf, inf)),
        ([-inf, -inf], (inf, -inf, nan, -inf, -inf, inf)),
        ([nan, 1.0], (nan,) * 6),
        ([nan, inf], (nan,) * 6),
    ],
    ids=str,
)
def test_what_is_not_finite_follows_ieee(data, expected, dtype, times):
    found = statistics(torch.tensor(data, dtype=dtype).repeat(times))
    assert list(found) == [*KEYS, "finite"]
    assert all(same(found[k], e) for k, e in zip(FIGURES, expected, strict=True)), found
    assert found["nans"] == times * sum(v != v for v in data)
    assert found["infs"] == times * sum(v in {inf, -inf} for v in data)
    if 1.0 in data:
        std = None if times == 1 else 0.0
        ones = dict(zip(FIGURES, (math.sqrt(times), 1.0, std, 1.0, 1.0, 1.0), strict=True))
        assert found["finite"] == ones
    else:
        assert found["finite"] == dict.fromkeys(FIGURES)


def test_one_element_has_no_std():
    assert statistics(torch.tensor([inf]))["std"] is None
    assert statistics(torch.tensor(nan))["std"] is None
    assert statistics(torch.tensor([3.0]))["std"] is None


@pytest.mark.parametrize("times", [1, 1000])
def test_complex_elements_are_their_moduli(times):
    found = statistics(torch.tensor([3 + 4j, 0j, complex(nan, 1), complex(-inf, 2)]).repeat(times))
    assert (found["zeros"], found["nans"], found["infs"]) == (times, times, times)
    for key in ("norm", "abs_max"):
        assert math.isnan(found[key])
    assert found["finite"]["norm"] == pytest.approx(5.0 * math.sqrt(times))
    assert found["finite"]["abs_max"] == 5.0
    for part in (found, found["finite"]):
        assert [part[key] for key in ("mean", "std", "min", "max")] == [None] * 4


@pytest.mark.parametrize("size", [3, 500, 20_000])
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED], ids=str)
def test_integers_have_exact_ends(dtype, size):
    info = torch.iinfo(dtype)
    tensor = torch.tensor([info.min, *[1] * (size - 2), info.max], dtype=dtype)
    found = statistics(tensor)
    assert (found["min"], found["max"]) == (info.min, info.max)
    assert found["abs_max"] == max(-info.min, info.max)
    assert {type(found[key]) for key in ("min", "max", "abs_max")} == {int}
    assert type(found["mean"]) is float


def test_uint64_above_what_int64_holds():
    tensor = torch.tensor([2**63 + 5, *[2**63 + 1] * 499], dtype=torch.uint64)
    found = statistics(tensor)
    assert (found["min"], found["max"]) == (2**63 + 1, 2**63 + 5)


@pytest.mark.parametrize("times", [1, 100])
def test_booleans_are_numbers(times):
    found = statistics(torch.tensor([True, False, True, True]).repeat(times))
    assert found["mean"] == 0.75
    assert [type(found[key]) for key in ("min", "max")] == [int, int]
    assert (found["min"], found["max"], found["zeros"]) == (0, 1, times)


# --- other layouts -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 64, 400])
@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc", "hybrid"])
@pytest.mark.parametrize("lift", [0.0, 50.0], ids=["both signs", "positive"])
def test_sparse_layouts_with_their_implicit_zeros(layout, size, lift):
    dense = values(torch.float32, size, size)
    dense = torch.where(dense.abs() > 4, dense + lift, 0.0)
    block = {"blocksize": (2, 4)} if layout in {"bsr", "bsc"} else {}
    if layout == "coo":
        sparse = dense.to_sparse()
    elif layout == "hybrid":
        sparse = dense.to_sparse(1)
    else:
        sparse = getattr(dense, f"to_sparse_{layout}")(**block)
    check(sparse, dense)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bool, torch.int64, torch.uint16, *EIGHTS[:1], *COMPLEX], ids=str
)
def test_uncoalesced_values_are_summed(dtype):
    sparse = uncoalesced(torch.ones(3).to(dtype), 4)
    found = statistics(sparse)
    first = 1 if dtype is torch.bool else 2
    assert (found["numel"], found["zeros"], found["abs_max"]) == (4, 2, first)
    assert found["norm"] == pytest.approx(math.hypot(first, 1))
    assert not sparse.is_coalesced()


def test_a_sparse_tensor_of_no_values_is_all_zeros():
    found = check(torch.zeros(5, 5).to_sparse(), torch.zeros(5, 5))
    assert found["zeros"] == 25
    assert found["min"] == 0.0
    assert found["std"] == 0.0


def test_sparse_values_that_are_not_finite():
    found = statistics(torch.tensor([0.0, inf, 0.0, 2.0]).to_sparse())
    assert (found["zeros"], found["infs"], found["min"], found["max"]) == (2, 1, 0.0, inf)
    assert found["finite"]["mean"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)
def test_nested_tensors_are_all_their_elements(layout):
    parts = [values(torch.float32, 2, 3), values(torch.float32, 70, 3, seed=3)]
    check(torch.nested.nested_tensor(parts, layout=layout), torch.cat(parts))


def test_jagged_with_holes():
    data = torch.arange(20.0).view(10, 2)
    nested = torch.nested.nested_tensor_from_jagged(
        data, offsets=torch.tensor([0, 4, 9]), lengths=torch.tensor([2, 3])
    )
    check(nested, torch.cat([data[0:2], data[4:7]]))


def test_empty_nested():
    for layout in (torch.strided, torch.jagged):
        nested = torch.nested.nested_tensor([torch.zeros(0, 3)], layout=layout)
        assert statistics(nested)["norm"] == 0.0


def test_quantized_values_are_dequantized():
    dense = values(torch.float32, 40, 20)
    once = torch.quantize_per_tensor(dense, 0.1, 3, torch.quint8)
    check(once, once.dequantize())
    each = torch.quantize_per_channel(
        dense, torch.full((40,), 0.1), torch.zeros(40), 0, torch.qint8
    )
    check(each, each.dequantize())


def test_lazy_bits():
    z = values(torch.complex64, 30, 40)
    check(z.conj())
    check(z.conj().imag)
    check(z.conj().imag[:2, :2])
    check(torch._efficientzerotensor(300), torch.zeros(300))
    check(torch.ones(5, 40).to_mkldnn(), torch.ones(5, 40))


class Marked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(func)


class Trapped(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(func)


def test_subclasses_that_hold_their_values():
    data = values(torch.float32, 500)
    with torch._C.DisableTorchFunctionSubclass():
        marked, trapped = data.as_subclass(Marked), data.as_subclass(Trapped)
    assert statistics(marked) == statistics(trapped) == check(data)
    assert statistics(torch.nn.Parameter(data)) == statistics(torch.nn.Buffer(data)) == check(data)


# --- no values ---------------------------------------------------------------------------------


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(func)


def freed():
    tensor = torch.ones(1000)
    tensor.untyped_storage().resize_(0)
    return tensor


def fake(*shape):
    with FakeTensorMode():
        return torch.empty(*shape)


NO_VALUES = {
    "meta": lambda: torch.empty(3, device="meta"),
    "empty meta": lambda: torch.empty(0, device="meta"),
    "fake": lambda: fake(3),
    "empty fake": lambda: fake(0),
    "fake parameter": lambda: torch.nn.Parameter(fake(3)),
    "fake sparse": lambda: FakeTensorMode().from_tensor(torch.eye(3).to_sparse()),
    "meta sparse": lambda: torch.eye(3).to_sparse().to("meta"),
    "lazy parameter": lambda: torch.nn.UninitializedParameter(),
    "lazy buffer": lambda: torch.nn.UninitializedBuffer(),
    "wrapper": lambda: Wrapper(torch.ones(3)),
    "freed": freed,
    "functional": lambda: torch._to_functional_tensor(torch.ones(3)),
    "bits": lambda: torch.zeros(4, dtype=torch.uint8).view(torch.bits8),
    "two in a byte": lambda: torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
}


LATER = {"two in a byte": needs_torch("2.8", "the dtype float4_e2m1fn_x2")}


@pytest.mark.parametrize("name", [pytest.param(n, marks=LATER.get(n, ())) for n in NO_VALUES])
def test_none_where_there_are_no_values(name):
    tensor = NO_VALUES[name]()
    assert statistics(tensor) is None
    assert norm_of_change(tensor, tensor) is None


def test_none_for_tensors_of_a_function_transform():
    seen = []

    def watch(x):
        seen.append(statistics(x))
        return x.sum()

    torch.func.vmap(watch)(torch.ones(2, 3))
    torch.func.grad(watch)(torch.ones(3))
    torch.func.functionalize(watch)(torch.ones(3))
    assert seen == [None] * 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_trace_does_not_take_our_operators_for_the_models():
    seen = []

    def watch(x):
        seen.append(statistics(x))
        return x * 2

    traced = torch.jit.trace(watch, (torch.ones(300),), check_trace=False)
    assert seen == [None]
    assert [node.kind() for node in traced.graph.nodes()] == ["prim::Constant", "aten::mul"]


# --- surroundings ------------------------------------------------------------------------------


class DispatchTrap(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise AssertionError(func)


class FunctionTrap(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise AssertionError(func)


SURROUNDINGS = {
    "dispatch mode": DispatchTrap,
    "function mode": FunctionTrap,
    "fake mode": FakeTensorMode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "inference": torch.inference_mode,
    "meta device": lambda: torch.device("meta"),
    "python dispatcher": enable_python_dispatcher,
    "anomaly": torch.autograd.set_detect_anomaly,
}
SAMPLES = {
    "few": lambda: values(torch.float32, 20),
    "thousands": lambda: values(torch.float32, 5000),
    "chunks": lambda: values(torch.float32, SIZE + 5000),
    "halves": lambda: values(torch.bfloat16, 50, 400).t()[3:],
    "odd": lambda: torch.tensor([nan, 1.0, inf, 0.0]).repeat(400),
    "complex": lambda: values(torch.complex64, 300),
    "huge integers": lambda: torch.full((300,), 2**62 + 1) + torch.arange(300),
    "sparse": lambda: uncoalesced(torch.ones(3), 400),
    "strided nested": lambda: nested(torch.strided),
    "jagged": lambda: nested(torch.jagged),
    "quantized": lambda: torch.quantize_per_tensor(torch.arange(300.0), 0.5, 0, torch.quint8),
    "conjugate": lambda: values(torch.complex64, 300).conj(),
    "negative": lambda: values(torch.complex64, 300).conj().imag,
}


def uncoalesced(stored, size):
    """The first two at one place."""
    index = torch.tensor([[0, 0, 2]])
    return torch.sparse_coo_tensor(index, stored, (size,), check_invariants=True)


def nested(layout):
    return torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(50, 3) * 2], layout=layout)


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_surroundings_change_nothing(around, name):
    tensor = SAMPLES[name]()
    expected = repr(statistics(tensor))
    with SURROUNDINGS[around]() if around != "anomaly" else torch.autograd.detect_anomaly():
        assert repr(statistics(tensor)) == expected
        change = norm_of_change(tensor, tensor)
    assert change == 0.0 or name == "odd"


@pytest.mark.parametrize("name", SAMPLES)
def test_inside_a_function_transform(name):
    tensor, seen = SAMPLES[name](), []
    expected = repr(statistics(tensor))

    def watch(x):
        seen.append(repr(statistics(tensor)))
        return x.sum()

    torch.func.vmap(watch)(torch.ones(2, 3))
    torch.func.vmap(torch.func.grad(watch))(torch.ones(2, 3))
    torch.func.functionalize(watch)(torch.ones(3))
    assert seen == [expected] * 3


@pytest.mark.parametrize("name", SAMPLES)
def test_settings_change_nothing(name):
    tensor = SAMPLES[name]()
    expected = repr(statistics(tensor))
    default = torch.get_default_dtype()
    try:
        torch.use_deterministic_algorithms(True)
        for dtype in (torch.float64, torch.float16):
            torch.set_default_dtype(dtype)
            assert repr(statistics(tensor)) == expected
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_default_dtype(default)


@pytest.mark.parametrize("size", [10, 5000, 300_000])
def test_nothing_is_recorded_written_or_kept(size):
    leaf = torch.randn(size, generator=generator(), requires_grad=True)
    tensor = leaf * 2
    saved, version, graph = tensor.detach().clone(), tensor._version, tensor.grad_fn
    state = torch.get_rng_state()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: pytest.fail("saved"), lambda t: t):
        assert statistics(tensor)["numel"] == size
        norm_of_change(saved, tensor)
    assert tensor.equal(saved)
    assert tensor._version == version
    assert tensor.grad_fn is graph
    assert tensor.requires_grad
    assert torch.get_rng_state().equal(state)
    assert torch.is_grad_enabled()
    gone = weakref.ref(tensor)
    del tensor, graph
    gc.collect()
    assert gone() is None


def test_inference_tensors():
    with torch.inference_mode():
        tensor = torch.randn(5000, generator=generator())
    check(tensor)
    assert tensor.is_inference()


def test_gradients_go_on_as_before():
    leaf = torch.ones(300, requires_grad=True)
    out = (leaf * 3).sum()
    statistics(leaf)
    statistics(out)
    out.backward()
    assert leaf.grad.equal(torch.full((300,), 3.0))


DTENSOR = """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def main(rank, store):
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
    from hookcli.engine.statistics.statistics import norm_of, norm_of_change, statistics
    full = torch.arange(401.0)
    for placement in (Shard(0), Replicate()):
        part = distribute_tensor(full, init_device_mesh("cpu", (2,)), [placement])
        part = torch.nn.Parameter(part)
        assert statistics(part) == statistics(full), rank
        assert norm_of_change(part, full + 1) == norm_of_change(full, full + 1)
    dist.destroy_process_group()
if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, (os.path.join(folder, "store"),), nprocs=2)
"""


def test_dtensor_is_the_whole(tmp_path):
    script = tmp_path / "both.py"
    script.write_text(DTENSOR)
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


# --- the way of accelerators, on a CPU ---------------------------------------------------------


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX], ids=str)
def test_on_device_agrees_with_on_cpu(dtype):
    view, _ = compact(values(dtype, 300, 40).t()[2:])
    assert_same(on_device(view), on_cpu(view))


@pytest.mark.parametrize(
    "tensor",
    [torch.tensor([nan, inf, -inf, 2.0, 0.0]).repeat(50), torch.full((300,), nan),
     torch.linspace(1e300, 1.5e308, 300, dtype=torch.float64), torch.zeros(300),
     torch.linspace(0, 1e-310, 300, dtype=torch.float64)],
)  # fmt: skip
def test_on_device_agrees_in_odd_cases(tensor):
    assert_same(on_device(tensor), on_cpu(tensor))


def assert_same(a: Elements, b: Elements):
    assert (a.nans, a.above, a.below) == (b.nans, b.above, b.below)
    for name in Moments.__slots__:
        x, y = getattr(a.finite, name), getattr(b.finite, name)
        assert x == pytest.approx(y, rel=1e-6, abs=1e-7 * b.finite.norm), name


def test_moments_merge_as_if_taken_at_once():
    tensor = values(torch.float64, 1000) + 5
    whole = on_cpu(tensor).finite
    merged = Moments()
    for part in (tensor[:1], tensor[1:300], tensor[300:]):
        merged.merge(on_cpu(part).finite)
    merged.merge(Moments())
    for name in Moments.__slots__:
        assert getattr(merged, name) == pytest.approx(getattr(whole, name), rel=1e-12), name


# --- changes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 100, 5000, SIZE + 77])
@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX], ids=str)
def test_norm_of_change(dtype, size):
    old, new = values(dtype, size), values(dtype, size, seed=9)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    expected = (new.to(wide) - old.to(wide)).norm().item()
    assert norm_of_change(old, new) == pytest.approx(expected, rel=1e-12, abs=0)
    assert norm_of_change(old, old.clone()) == 0.0


def test_norm_of_change_across_strides_dtypes_and_layouts():
    old, new = values(torch.float32, 600, 700), values(torch.float64, 600, 700, seed=2)
    expected = pytest.approx((new - old.double()).norm().item(), rel=1e-9)
    assert norm_of_change(old, new) == expected
    assert norm_of_change(old.t().contiguous().t(), new) == expected
    assert norm_of_change(old.to_sparse(), new) == expected
    assert norm_of_change(old, new.to_sparse_csr()) == expected
    assert norm_of_change(old.t(), new.t()) == expected
    assert norm_of_change(old, new.to(torch.complex128)) == expected
    one, two = torch.ones(3, 1).expand(3, 40), torch.zeros(3, 1).expand(3, 40)
    assert norm_of_change(one, two) == pytest.approx(math.sqrt(120))


def test_norm_of_change_of_conjugates():
    z = torch.tensor([1 + 2j, 3 - 1j])
    assert norm_of_change(z, z.conj()) == pytest.approx(math.hypot(4, 2))
    assert norm_of_change(z.conj(), z.conj()) == 0.0


def test_norm_of_change_of_other_shapes_is_none():
    assert norm_of_change(torch.ones(3), torch.ones(4)) is None
    assert norm_of_change(torch.ones(3, 1), torch.ones(3)) is None


def test_norm_of_change_sees_the_smallest_and_the_largest():
    one = torch.ones(4)
    after = one.clone()
    after[2] += 2**-23
    assert norm_of_change(one, after) == 2**-23
    zeros = torch.zeros(400, dtype=torch.float64)
    for value in (1e-200, 1e200, 5e-324):
        expected = pytest.approx(20 * value, rel=1e-9, abs=0)
        assert norm_of_change(zeros, zeros + value) == expected
    tiny = torch.full((400,), 1e-42)
    expected = pytest.approx(20 * tiny[0].double().item(), rel=1e-9, abs=0)
    assert norm_of_change(torch.zeros(400), tiny) == expected


def test_norm_of_change_follows_ieee():
    one = torch.ones(400)
    for value, expected in ((inf, inf), (-inf, inf), (nan, nan)):
        assert same(norm_of_change(one, one.index_fill(0, torch.tensor([7]), value)), expected)
    assert math.isnan(norm_of_change(one * inf, one * inf))
    both = torch.cat([torch.full((SIZE,), inf), torch.full((9,), nan)])
    assert math.isnan(norm_of_change(torch.zeros(SIZE + 9), both))


NORM_ALONE = {"mean", "std", "min", "max", "abs_max", "zeros"}


@pytest.mark.parametrize("size", [0, 1, 100, 8_192, 8_193, 40_000, 600_001])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64,
                                   torch.int32, torch.bool, torch.complex64])  # fmt: skip
@pytest.mark.parametrize("lift", [1.0, 1e-20, 1e30])
def test_the_norm_alone_is_that_of_all_figures(size, dtype, lift):
    generator = torch.Generator().manual_seed(size)
    x = (
        torch.randn(size, generator=generator)
        .mul(lift if dtype == torch.float32 else 1.0)
        .to(dtype)
    )
    full, alone = statistics(x), norm_of(x)
    assert alone["norm"] == pytest.approx(full["norm"], rel=1e-6, abs=0)
    assert {k: alone[k] for k in ("numel", "nans", "infs")} == {
        k: full[k] for k in ("numel", "nans", "infs")
    }
    assert alone.keys() == full.keys()
    assert {k for k, v in alone.items() if v is None} == NORM_ALONE


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("size", [3, 50_000, 700_000])
def test_with_something_not_finite_the_norm_comes_with_all_figures(bad, size):
    x = torch.ones(size)
    x[size // 2] = bad
    assert repr(norm_of(x)) == repr(statistics(x))


def test_the_norm_of_a_strided_and_of_a_repeated_tensor():
    x = torch.randn(300, 200)
    for view in (x.t(), x[:, ::2], x[:1].expand(500, 200), x[:0], x.to_sparse()):
        assert norm_of(view)["norm"] == pytest.approx(statistics(view)["norm"], rel=1e-6, abs=0)
        assert norm_of(view)["numel"] == statistics(view)["numel"]


def test_what_has_no_values_has_no_norm():
    assert norm_of(torch.empty(4, device="meta")) is None


@pytest.mark.parametrize("shape", [(3, 4), (300, 400)])
def test_the_norm_of_a_sum_is_that_of_the_sum(shape):
    a, b = torch.randn(shape), torch.randn(shape)
    for one, other in [(a, b), (a.t(), b.t()), (a, b.double()), (a, a[:1].expand(shape)),
                       (a[:1].expand(shape), b[:1].expand(shape)), (a.to_sparse(), b.to_sparse()),
                       (a.half(), b.half()), (a * 1e30, b * 1e30), (Sub(a), Sub(b))]:  # fmt: skip
        expected = (one + other).to_dense().as_subclass(torch.Tensor).double().norm().item()
        assert norm_of_sum(one, other)["norm"] == pytest.approx(expected, rel=1e-3)


class Sub(torch.Tensor):
    """A subclass that holds its own memory."""


@pytest.mark.parametrize("size", [2, 200, 20_000])
def test_zeros_are_counted_beside_values_of_one_sign(size):
    for sign in (1.0, -1.0):
        values = torch.ones(size) * sign
        values[::2] = 0
        for compute in (on_cpu, on_device):
            finite = compute(values).finite
            assert (finite.count, finite.zeros) == (size, size // 2)
            assert (finite.low, finite.high) == ((0, 1) if sign > 0 else (-1, 0))
            assert finite.norm == pytest.approx((size // 2) ** 0.5)


def test_infinities_are_counted_by_their_sign():
    for compute in (on_cpu, on_device):
        elements = compute(torch.tensor([-math.inf, 1.0, math.inf, math.inf, math.nan]))
        assert (elements.nans, elements.above, elements.below) == (1, 2, 1)


def test_a_quick_norm_is_right_or_none():
    tiny = torch.full((20_000,), 1e-25)  # whose squares are 0 in float32
    assert quick_norm(tiny) is None
    assert quick_norm(torch.zeros(20_000)) is None
    half = torch.full((20_000,), 1 + 2**-10, dtype=torch.float16)
    assert quick_norm_of_sum(half, half * 2**-10) is None  # float16 would round the sums
    exact = (half.double() * (1 + 2**-10)).norm().item()
    single = quick_norm_of_sum(half.float(), half.float() * 2**-10)
    assert single == pytest.approx(exact, rel=1e-6)


def test_a_last_piece_of_a_few_elements_adds_what_it_contains():
    count = (1 << 20) + 3  # a piece and three elements
    values = torch.ones(count)
    values[1::2] = 3.0
    finite = on_cpu(values).finite
    assert finite.mean == pytest.approx(values.double().mean().item(), rel=1e-12)
    assert finite.norm == pytest.approx(values.double().norm().item(), rel=1e-7)
    assert quick_norm(values) == pytest.approx(finite.norm, rel=1e-7)


def test_a_part_that_is_infinite_makes_a_complex_number_infinite():
    values = torch.ones(200, dtype=torch.complex64)
    values[3] = complex(math.inf, math.nan)
    values[5] = complex(math.nan, 1.0)
    elements = on_cpu(values)
    assert (elements.nans, elements.above, elements.finite.count) == (1, 1, 198)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_change_by_large_numbers_of_one_sign_has_a_norm(sign):
    change = torch.full((4,), sign * 1e200, dtype=torch.float64)
    assert norm_of_change(torch.zeros_like(change), change) == pytest.approx(2e200)


class Elsewhere:
    """A tensor of another device, as far as it is asked for its device and for a copy."""

    def __init__(self, device, copy=None):
        self.device, self.copy = torch.device(device), copy

    def cpu(self):
        assert self.copy is not None, "there is no need of a copy"
        return self.copy


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [("cuda", "cpu", True), ("cuda:0", "cuda:1", True), ("mps", "mps", True),
     ("cuda:1", "cuda:1", False)],
)  # fmt: skip
def test_a_change_is_computed_on_the_cpu_if_devices_differ_or_have_no_float64(
    monkeypatch, old, new, moved
):
    seen = []
    monkeypatch.setattr(module, "_differences", lambda *pair: seen.extend(pair) or [])
    copies = (torch.ones(2), torch.zeros(2)) if moved else (None, None)
    pair = Elsewhere(old, copies[0]), Elsewhere(new, copies[1])
    assert module._distance(*pair) == 0.0
    for one, expected in zip(seen, copies if moved else pair, strict=True):
        assert one is expected


@pytest.mark.parametrize(("dtype", "zero"), [(torch.float32, "0.0"), (torch.int64, "0"),
                                             (torch.bool, "0")])  # fmt: skip
def test_implicit_zeros_have_the_type_of_the_other_ends(dtype, zero):
    sparse = torch.tensor([3, 0, 0, 5, 0]).to(dtype).to_sparse()
    found = statistics(sparse)
    assert (repr(found["min"]), found["zeros"], found["numel"]) == (zero, 3, 5)
    assert type(found["max"]) is type(found["min"])
    assert norm_of(sparse)["numel"] == 5
    assert norm_of(sparse)["norm"] == pytest.approx(sparse.to_dense().double().norm().item())


def sparse_at(first, size=20_000):
    """Every second element is stored, with a value above 1."""
    places = torch.arange(first, size, 2)
    return torch.sparse_coo_tensor(places[None], 1.0 + places / size, (size,), is_coalesced=True)


def test_the_norm_of_a_sum_adds_what_is_at_the_same_place():
    a, b = sparse_at(0), sparse_at(1)
    expected = (a.to_dense().double() + b.to_dense().double()).norm().item()
    assert norm_of_sum(a, b)["norm"] == pytest.approx(expected, rel=1e-6)
    row = torch.rand(10_000, generator=generator()) + 1
    repeated = norm_of_sum(row.expand(3, 10_000), row.expand(3, 10_000))
    assert repeated["numel"] == 30_000
    assert repeated["norm"] == pytest.approx(2 * math.sqrt(3) * row.double().norm().item())


@pytest.mark.parametrize("around", [FunctionTrap, DispatchTrap])
@pytest.mark.parametrize("size", [3, 20_000])
@pytest.mark.parametrize("kind", ["plain", "sparse", "parameter", "subclass"])
def test_no_mode_sees_how_a_norm_is_computed(around, size, kind):
    a, b = torch.ones(size), torch.ones(size) * 2
    if kind == "sparse":
        a, b = a.to_sparse(), b.to_sparse()
    elif kind == "parameter":
        a, b = torch.nn.Parameter(a), torch.nn.Parameter(b)
    elif kind == "subclass":
        with torch._C.DisableTorchFunctionSubclass():
            a, b = a.as_subclass(Marked), b.as_subclass(Marked)
    with around():
        found, alone = norm_of_sum(a, b), norm_of(a)
    assert found["norm"] == pytest.approx(3 * math.sqrt(size))
    assert alone["norm"] == pytest.approx(math.sqrt(size))
