"""Whatever stands in a file of a model, of weights or of a batch: an answer, or our own error."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import struct
import warnings
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.torch import save
from torch import nn

from hookcli.errors import HookcliError, RequestError
from hookcli.models.batch import as_batch, map_batch, misfit
from hookcli.models.files.tensors import read_tensors
from hookcli.models.files.weights import load_weights, read_weights
from hookcli.models.nested import describe, leaves, map_tensors
from hookcli.models.sources.parse import parse_source
from hookcli.models.sources.pickle_scan import read_pickle


def net():
    return nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))


def written(value, **more):
    file = io.BytesIO()
    torch.save(value, file, **more)
    return file.getvalue()


def array(value):
    file = io.BytesIO()
    np.save(file, value)
    return file.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def answer(folder, data, name="f.pt"):
    """Read a file in every way there is: none may raise what is no error of ours."""
    file = folder / name
    file.write_bytes(data)
    for read in (parse_source, whole_batch, weights):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read(str(file))
            except HookcliError as error:
                assert error.message
                assert error.place
                assert error.hint
                assert error.status in {2, 3}


def whole_batch(path):
    batch = as_batch(read_tensors(path, f"--input {path}"))
    misfit(net(), batch)
    map_batch(batch, lambda tensor: tensor)


def weights(path):
    load_weights(net(), read_weights(path, sizes_only=False), path)


QUIET = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
LENGTHS = [b"\xff" * 4, b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\xff" * 8, b"\0" * 8,
           struct.pack("<Q", 1 << 40), struct.pack("<I", 1 << 30)]  # fmt: skip
LINES = [b"1\n", b"a b\n", b"'a'\n", b"x\ny\n", b"\n", b"-1\n", b"1" * 5000 + b"\n", b"\xff\n",
         b"torch._utils\n_rebuild_tensor_v2\n", b"torch.nn.modules.linear\nLinear\n"]  # fmt: skip
ARGUMENTS = st.sampled_from([b"", b"\0", b"\1", b"\2ab", *LENGTHS, *LINES]) | st.binary(max_size=9)
OPCODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]
PICKLE = st.lists(st.tuples(st.sampled_from(OPCODES), ARGUMENTS), max_size=12).map(
    lambda steps: b"\x80\x02" + b"".join(code + argument for code, argument in steps) + b"."
)
STATE = net().state_dict()
WHOLE = [
    pickle.dumps(net()), pickle.dumps([1, {"a": (2, b"x")}], 4), written(STATE),
    written(net(), _use_new_zipfile_serialization=False), save({"a": torch.ones(2)}),
    array(np.ones((2, 3))), array(np.array(["a"])), b"\x08\x08\x12\x02ab\x3a\x02ab",
    b'{"weight_map": {"a": "b"}}', b"import torch\nx = [1, (2, 3)]\n", b"GGUF\3\0\0\0",
]  # fmt: skip


@st.composite
def damaged(draw):
    """A good file with a few bytes changed, cut, doubled or declared larger."""
    data = bytearray(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        change = draw(st.sampled_from(["put", "cut", "end", "insert"]))
        some = draw(st.sampled_from([*LENGTHS, *OPCODES]) | st.binary(min_size=1, max_size=4))
        if change == "put":
            data[start : start + len(some)] = some
        elif change == "cut":
            del data[start : start + len(some)]
        elif change == "end":
            del data[start:]
        else:
            data[start:start] = some
    return bytes(data)


VALUES = st.sampled_from([
    None, True, 0, -1, 2**63, 2**64, 10**30, 1.5, "", "F32", "F8_E4M3", "F99", "a", [], {}, [0, 8],
    [8, 0], [0, -1], [0, 2**63], [2**62, 4], [2], [0], [-2], ["a"], [None], {"x": "y"}, {"x": 1},
])  # fmt: skip
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.just("F32") | VALUES,
        "shape": st.just([2]) | VALUES,
        "data_offsets": st.just([0, 8]) | VALUES,
    },
)
HEADERS = st.dictionaries(
    st.sampled_from(["a", "", "a.b", "\0", "__metadata__"]), ENTRIES | VALUES, max_size=3
).map(lambda header: json.dumps(header).encode())
SAFETENSORS = st.tuples(
    HEADERS | st.sampled_from([b"{}", b'{"__metadata__":{}}', b'{"a":' * 3000, b'{"a":NaN}']),
    st.none() | st.sampled_from([0, 1, 2**27, 10**9, 2**63, 2**64 - 1]),
    st.binary(max_size=16),
).map(lambda t: struct.pack("<Q", len(t[0]) if t[1] is None else t[1]) + t[0] + t[2])
SHAPES = ["(2,)", "()", "(-1,)", "(1000000000000,)", "None", "[2]", "('a',)", "(0, 10**18)",
          "(9223372036854775807,)", "(" + "1," * 70 + ")"]  # fmt: skip
TYPES = ["'<f4'", "'|O'", "'<U3'", "'|V0'", "'<f99'", "None", "[('a', '<f4')]", "'<f16'", "'M8[s]'"]
ARRAYS = st.tuples(
    st.sampled_from([0, 1, 2, 3, 9]),
    st.builds(
        "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}".format,
        st.sampled_from(TYPES), st.sampled_from(["False", "None"]), st.sampled_from(SHAPES),
    ),
    st.sampled_from([0, 8, 100]),
).map(
    lambda t: b"\x93NUMPY"
    + bytes([t[0], 0])
    + struct.pack("<H" if t[0] == 1 else "<I", len(t[1]))
    + t[1].encode()
    + bytes(t[2])
)  # fmt: skip
NAMES = st.sampled_from(["f.pt", "f.json", "f.onnx", "f"])


@settings(QUIET, max_examples=120)
@given(PICKLE | damaged() | SAFETENSORS | ARRAYS | st.binary(max_size=40), NAMES)
def test_no_file_is_a_bug(folder, data, name):
    answer(folder, data, name)


@settings(QUIET, max_examples=200)
@given(PICKLE)
def test_a_pickle_is_told_or_refused(data):
    for tail in (b"", bytes(64)):
        try:
            read_pickle(io.BytesIO(data + tail))
        except ValueError:
            continue


@settings(QUIET, max_examples=40)
@given(PICKLE)
def test_an_archive_with_any_pickle_is_told_or_refused(folder, data):
    good, file = io.BytesIO(written(STATE)), io.BytesIO()
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(file, "w") as new:
        for one in old.namelist():
            new.writestr(one, data if one.endswith("data.pkl") else old.read(one))
    answer(folder, file.getvalue())


def test_a_good_file_cut_at_any_length_is_told_or_refused(folder):
    for data in WHOLE:
        for size in {*range(min(len(data), 40)), len(data) // 2, len(data) - 1}:
            answer(folder, data[:size])


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("code", [b"\x8e", b"\x8d", b"\x96", b"B", b"X", b"T", b"\x8b"])
def test_a_declared_length_makes_no_room(code, length):
    """A pickle that says that gigabytes follow: what is not there is not made room for."""
    with pytest.raises(ValueError, match=r"."):
        read_pickle(io.BytesIO(b"\x80\x04" + code + length + b"x."))


def test_a_long_argument_is_skipped_and_what_follows_it_is_read():
    data = pickle.dumps({"a": bytes(3 << 20), "b": nn.Linear(2, 2)}, protocol=4)
    found = dict(read_pickle(io.BytesIO(data)).entries)
    assert found["b"].is_module


def test_an_object_that_is_given_a_dict_again_and_again_ends():
    entries = b"".join(b"K" + bytes([i % 256]) + b"N" for i in range(20_000))
    data = b"\x80\x02cm\nC\n)\x81q\x00}q\x01(" + entries + b"u0"
    data += b"h\x00h\x01b0" * 40_000 + b"h\x00."
    assert read_pickle(io.BytesIO(data)).name == "m.C"


CYCLE: dict = {}
CYCLE["state_dict"] = CYCLE


@pytest.mark.parametrize(("value", "said"), [
    ({1: torch.ones(1), "a": torch.ones(1)}, "its key 1 is not a string"),
    ({(1, 2): torch.ones(1)}, r"its key \(1, 2\) is not a string"),
    ({"state_dict": {None: torch.ones(1)}}, "its key None is not a string"),
    ({"a": torch.ones(1), "b": 3}, "'b' must be a tensor, got int"),
    ({}, "an empty dict"),
    (CYCLE, "'state_dict' must be a tensor, got dict"),
    (3, "must contain a state dict, got int"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_a_dict_that_is_no_state_dict_says_why(value, said, folder):
    (folder / "w.pt").write_bytes(written(value))
    with pytest.raises(RequestError, match=said):
        list(read_weights(str(folder / "w.pt"), sizes_only=True))


def nested(levels):
    value = torch.ones(2)
    for level in range(levels):
        value = [(value,), {"a": value}][level % 2]
    return value


def test_values_that_contain_themselves_are_walked_to_their_end():
    inner: list = [torch.ones(2)]
    inner.append(inner)
    for value in (inner, {"a": inner, "b": (inner,)}, nested(3000)):
        changed = map_tensors(value, lambda tensor: tensor * 2)
        assert type(changed) is type(value)
        assert len(leaves(value)) <= 3
        describe(value)
    assert torch.equal(map_tensors(inner, lambda tensor: tensor * 2)[0], torch.full((2,), 2.0))
