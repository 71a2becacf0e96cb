"""The grammar of `--input`: what it says, and the tensors that it makes."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given

from hookcli.errors import RequestError
from hookcli.inputs.materialise import given_batch, make_tensor
from hookcli.spec.inputs import (
    DTYPES,
    FLOATING,
    INTEGERS,
    DictSpec,
    FileSpec,
    Fill,
    FunctionSpec,
    InputSpec,
    ListSpec,
    TensorSpec,
    ValueSpec,
    parse_inputs,
)


def one(text):
    (parsed,) = parse_inputs((text,))
    return parsed


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("2x3x224x224", None, TensorSpec((2, 3, 224, 224))),
        ("7", None, TensorSpec((7,))),
        ("0x3", None, TensorSpec((0, 3))),
        ("2x16:int64:0..50257", None, TensorSpec((2, 16), "int64", Fill("range", 0, 50257))),
        ("2:int8:-3..4", None, TensorSpec((2,), "int8", Fill("range", -3, 4))),
        ("2x3:float32:ones", None, TensorSpec((2, 3), "float32", Fill("ones"))),
        ("2x3:float:zeros", None, TensorSpec((2, 3), "float32", Fill("zeros"))),
        ("2x3:half:randn", None, TensorSpec((2, 3), "float16", Fill("randn"))),
        ("2x3:bf16:rand", None, TensorSpec((2, 3), "bfloat16", Fill("rand"))),
        ("2:float64:-1.5..1e2", None, TensorSpec((2,), "float64", Fill("range", -1.5, 100.0))),
        ("2:int64:0..9223372036854775807", None,
         TensorSpec((2,), "int64", Fill("range", 0, 2**63 - 1))),
        ("2x3:bool", None, TensorSpec((2, 3), "bool")),
        ("2x3:torch.long", None, TensorSpec((2, 3), "int64")),
        ("float32[2,3]", None, TensorSpec((2, 3), "float32")),
        ("float32[]", None, TensorSpec((), "float32")),
        ("int64[2, 3]:0..5", None, TensorSpec((2, 3), "int64", Fill("range", 0, 5))),
        ("mask=2x3:bool", "mask", TensorSpec((2, 3), "bool")),
        ("value:true", None, ValueSpec(True)),
        ("value:none", None, ValueSpec(None)),
        ("value:3", None, ValueSpec(3)),
        ("value:1e-4", None, ValueSpec(1e-4)),
        ("value:no", None, ValueSpec("no")),
        ("value:[1, {a: b}]", None, ValueSpec([1, {"a": "b"}])),
        ("x=value:a=b", "x", ValueSpec("a=b")),
        ("batch.pt", None, FileSpec("batch.pt")),
        ("x=some dir/b.npy", "x", FileSpec("some dir/b.npy")),
        ("b.safetensors", None, FileSpec("b.safetensors")),
        ("data/make.py:batch", None, FunctionSpec("data/make.py", "batch")),
        ("x=make.py:ns.batch", "x", FunctionSpec("make.py", "ns.batch")),
    ],
)  # fmt: skip
def test_what_is_read(text, name, spec):
    assert (one(text).name, one(text).spec) == (name, spec)


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "2x", "x2", "2x-3", "2,3", "2x3:", "2x3:float31", "2x3:int64:randn",
        "2x3:int64:0..1.5", "2x3:bool:0..2", "2:int64:3..3", "2:uint8:-1..2", "2:float32:ten",
        "float32[2,a]", "float32[2", "x=", "value:[1", "value:{a: 1, a: 2}", "99999999999999999999",
        "2:float32:1.2.3..4", "batch.txt", "make.py:", "2x3:int64:5..1",
    ],
)  # fmt: skip
def test_what_is_refused_with_a_hint(text):
    with pytest.raises(RequestError) as caught:
        one(text)
    assert caught.value.place == f"--input {text}"
    assert caught.value.hint


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        one(text)
    except RequestError as error:
        assert error.hint


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@given(
    shape=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    dtype=st.sampled_from(DTYPES),
    fill=st.sampled_from(["", ":ones", ":zeros"]),
)
def test_every_dtype_and_shape_can_be_made(shape, dtype, fill):
    spec = one(f"{'x'.join(map(str, shape))}:{dtype}{fill}").spec
    tensor = make_tensor(spec, torch.float32, "cpu")
    assert tuple(tensor.shape) == tuple(shape)
    assert str(tensor.dtype) == f"torch.{dtype}"
    if fill and tensor.numel() and not dtype.startswith("complex"):
        assert set(tensor.to(torch.float64).flatten().tolist()) == {float(fill == ":ones")}


@pytest.mark.parametrize("dtype", INTEGERS)
def test_a_range_is_half_open(dtype):
    tensor = make_tensor(one(f"1000:{dtype}:3..6").spec, torch.float32, "cpu")
    assert set(tensor.to(torch.int64).tolist()) == {3, 4, 5}


@pytest.mark.parametrize("dtype", FLOATING)
def test_a_range_of_floats_is_kept_to(dtype):
    tensor = make_tensor(one(f"1000:{dtype}:2..4").spec, torch.float32, "cpu").to(torch.float32)
    assert float(tensor.min()) >= 2
    assert float(tensor.max()) <= 4
    assert len(set(tensor.tolist())) > 3


def test_integers_without_a_range_are_zeros_and_ones():
    tensor = make_tensor(one("1000:int64").spec, torch.float32, "cpu")
    assert set(tensor.tolist()) == {0, 1}


def test_a_range_past_the_dtype_is_refused():
    with pytest.raises(RequestError, match="int8 cannot represent"):
        given_batch(
            parse_inputs(("3:int8:0..1000",)), floating=torch.float32, device="cpu", call=id
        )


def test_floats_without_a_dtype_take_the_model_s():
    tensor = make_tensor(one("2x3").spec, torch.bfloat16, "cpu")
    assert tensor.dtype == torch.bfloat16


def test_files_hold_positional_keyword_or_single_arguments(tmp_path):
    import numpy as np
    from safetensors.torch import save_file

    def batch(*texts):
        return given_batch(parse_inputs(texts), floating=torch.float32, device="cpu", call=id)

    torch.save((torch.ones(1), [torch.ones(2)]), tmp_path / "tuple.pt")
    torch.save({"x": torch.ones(1)}, tmp_path / "dict.pt")
    torch.save([torch.ones(1)], tmp_path / "list.pt")
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    save_file({"x": torch.ones(1)}, tmp_path / "x.safetensors")
    assert len(batch(f"{tmp_path}/tuple.pt").args) == 2
    assert list(batch(f"{tmp_path}/dict.pt").kwargs) == ["x"]
    assert isinstance(batch(f"{tmp_path}/list.pt").args[0], list)
    assert batch(f"{tmp_path}/a.npy").args[0].dtype == torch.float64
    assert list(batch(f"{tmp_path}/x.safetensors").kwargs) == ["x"]
    mixed = batch("2", f"y={tmp_path}/dict.pt", "z=value:3")
    assert len(mixed.args) == 1
    assert isinstance(mixed.kwargs["y"], dict)
    assert mixed.kwargs["z"] == 3


def test_a_file_that_could_run_code_is_refused(tmp_path):
    from torch import nn

    torch.save(nn.ReLU(), tmp_path / "m.pt")
    with pytest.raises(RequestError, match="could run code"):
        given_batch(
            parse_inputs((f"{tmp_path}/m.pt",)), floating=torch.float32, device="cpu", call=id
        )


def test_a_list_or_mapping_of_inputs_is_one_argument():
    nested = ListSpec((TensorSpec((2, 3)), DictSpec((("mask", ValueSpec(True)),))))
    batch = given_batch(
        (InputSpec(None, nested, "[2x3, {mask: value:true}]"), *parse_inputs(("y=4",))),
        floating=torch.float32,
        device="cpu",
        call=id,
    )
    assert [list(batch.args[0][0].shape), batch.args[0][1]] == [[2, 3], {"mask": True}]
    assert list(batch.kwargs["y"].shape) == [4]


def test_an_input_of_a_configuration_keeps_its_place():
    nested = ListSpec((TensorSpec((3,), "int8", Fill("range", 0, 1000)),))
    one = InputSpec("x", nested, "[3:int8:0..1000]", "hooks.yaml:3: inputs.x")
    with pytest.raises(RequestError) as caught:
        given_batch((one,), floating=torch.float32, device="cpu", call=id)
    assert caught.value.place == "hooks.yaml:3: inputs.x"
