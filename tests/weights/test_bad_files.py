"""Bad files of weights: each is refused in three lines, and no code of a pickle runs."""

from __future__ import annotations

import json
import pickle
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from hookcli.errors import HookcliError
from hookcli.weights.inspection import inspect
from hookcli.weights.opening import is_weights, open_weights


def _header(entries, data=b"", claimed=None):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return struct.pack("<Q", len(text) if claimed is None else claimed) + text + data


def _entry(begin, end, shape=(1,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


BAD = {
    "truncated": (_header({"a": _entry(0, 4)}, b"ab"), "ends at byte 4"),
    "a huge header": (_header({"a": _entry(0, 4)}, b"abcd", 1 << 60), "claims"),
    "a huge shape": (_header({"a": _entry(0, 4, (1 << 40, 1 << 40))}, b"abcd"), "more elements"),
    "a negative size": (_header({"a": _entry(0, 4, (-1,))}, b"abcd"), "not a size"),
    "overlap": (_header({"a": _entry(0, 4), "b": _entry(2, 6)}, b"abcdef"), "in common"),
    "another size": (_header({"a": _entry(0, 4, (2,))}, b"abcd"), "need 8"),
    "a name twice": (
        _header(b'{"a":%s,"a":%s}' % ((json.dumps(_entry(0, 4)).encode(),) * 2), b"abcd"),
        "duplicate key 'a'",
    ),
    "nested": (_header(b"[" * 100_000), "header"),
    "a web page": (b"<!DOCTYPE html><html></html>", "a web page"),
    "a pointer of git-lfs": (b"version https://git-lfs.github.com/spec/v1\noid x\n", "Git LFS"),
    "empty": (b"", "empty"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_refused(kind, tmp_path):
    content, why = BAD[kind]
    path = tmp_path / "m.safetensors"
    path.write_bytes(content)
    with pytest.raises(HookcliError) as caught:
        open_weights(str(path), str(path))
    assert why in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message


class _Runs:
    def __reduce__(self):
        return eval, ("open('ran', 'w').close()",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
@pytest.mark.parametrize("legacy", [True, False])
def test_no_code_of_a_pickle_runs(protocol, legacy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(
        {"w": torch.ones(2), "x": _Runs()},
        "m.pt",
        pickle_protocol=protocol,
        _use_new_zipfile_serialization=not legacy,
    )
    try:
        report = inspect(open_weights("m.pt", "m.pt"), values=True)
    except HookcliError:
        report = None
    assert not (tmp_path / "ran").exists()
    if report is not None:
        assert report.tensors[0].stats["norm"] == pytest.approx(2**0.5)
        assert report.metadata["x"].endswith(".eval")


def test_the_metadata_of_a_distributed_checkpoint_runs_no_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "__0_0.distcp").write_bytes(b"")
    (tmp_path / "c" / ".metadata").write_bytes(pickle.dumps(_Runs()))
    assert is_weights("c")
    with pytest.raises(HookcliError):
        open_weights("c", "c")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("weight_map", "why"),
    [
        ({"a": "missing.safetensors"}, "missing.safetensors"),
        ({"a": "../m.safetensors"}, "outside its folder"),
        ({"a": "/etc/passwd"}, "outside its folder"),
        ({"b": "m.safetensors"}, "b"),
        ({}, "weight_map is empty"),
    ],
)
def test_a_bad_index_is_refused(weight_map, why, tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "m.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(HookcliError) as caught:
        open_weights(str(tmp_path), str(tmp_path))
    assert why in caught.value.message


def test_mutated_files_are_read_or_refused(tmp_path):
    """Bytes of files of each format are changed; anything but an error of hookcli's is a bug."""
    state = {"a.0.w": torch.randn(4, 5), "a.1.w": torch.randn(4, 5), "b": torch.arange(3)}
    save_file(state, tmp_path / "m.safetensors")
    torch.save({"state_dict": state, "epoch": 3}, tmp_path / "m.pt")
    torch.save(state, tmp_path / "m.bin", _use_new_zipfile_serialization=False)
    rng = np.random.default_rng(0)
    path = tmp_path / "mutant"
    for name in ("m.safetensors", "m.pt", "m.bin"):
        whole = (tmp_path / name).read_bytes()
        for _ in range(100):
            mutant = bytearray(whole)
            for _ in range(int(rng.integers(1, 4))):
                mutant[int(rng.integers(len(mutant)))] = int(rng.integers(256))
            if rng.random() < 0.2:
                del mutant[int(rng.integers(1, len(mutant))) :]
            path.write_bytes(mutant)
            try:
                weights = open_weights(str(path), str(path))
            except HookcliError:
                continue
            try:
                inspect(weights, values=True)
            except (ValueError, OSError):  # what the command turns into three lines
                continue


@pytest.mark.parametrize("length", [0x80, 0x280, 0x480])
def test_a_header_whose_length_begins_as_a_pickle_is_read(length, tmp_path):
    text = json.dumps({"a": _entry(0, 4)}).ljust(length).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(_header(text, b"\0\0\x80?"))
    assert path.read_bytes()[:1] == b"\x80"
    assert is_weights(str(path))
    assert inspect(open_weights(str(path), str(path)), values=True).tensors[0].stats["norm"] == 1


def test_a_folder_with_a_configuration_is_a_model(tmp_path):
    """`hookcli inspect FOLDER` says to write hf:FOLDER; a comparison reads its tensors."""
    save_file({"a": torch.ones(2)}, tmp_path / "model.safetensors")
    assert is_weights(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert not is_weights(str(tmp_path))
    assert is_weights(str(tmp_path), beside_config=True)
