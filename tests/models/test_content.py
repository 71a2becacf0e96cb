"""Every kind of file that people have is told by its content; each says what to do with it."""

from __future__ import annotations

import gzip
import os
import pickle
import tarfile
import zipfile
from collections import Counter

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models.sources.content import identify, identify_folder
from hookcli.models.sources.parse import Archive, PythonFile, parse_source
from hookcli.models.sources.pickle_scan import read_pickle
from hookcli.models.sources.torch_files import of_pickle, of_zip
from tests.models import made


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def torch_old(value, path):
    torch.save(value, path, _use_new_zipfile_serialization=False)


def linear():
    return nn.Linear(4, 3)


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name in members:
            archive.writestr(name, b"x")


def onnx(path):
    graph = b"\x0a\x02ab"
    path.write_bytes(b"\x08\x08\x12\x07pytorch" + b"\x3a" + bytes([len(graph)]) + graph)


def mobile(path):
    """What the mobile runtime's loader needs alone: TorchScript stripped of its code."""
    scripted = torch.jit.script(linear())
    scripted._save_for_lite_interpreter(str(path))
    with zipfile.ZipFile(path) as archive:
        members = {i.filename: archive.read(i) for i in archive.infolist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            if "/code/" not in name:
                archive.writestr(name, data)


def arrays(path, save):
    with path.open("wb") as file:
        save(file, np.ones(2))


def aotinductor(path):
    zipped(path, ["m/archive_format", "m/data/aotinductor/model/a.so", "m/.data/version"])


# how it is written, what it is said to be, what the hint says
REFUSED = {
    "state dict": (lambda p: torch.save(linear().state_dict(), p), "a state dict", "--weights f.x"),
    "old state dict": (lambda p: torch_old(linear().state_dict(), p), "a state dict", "weights"),
    "checkpoint": (
        lambda p: torch.save({"epoch": 3, "state_dict": linear().state_dict()}, p),
        "a checkpoint (keys epoch, state_dict)", "--weights f.x",
    ),
    "dict": (lambda p: torch.save({"a": 1}, p), "a dict without a model (keys a)", "state_dict"),
    "tensor": (lambda p: torch.save(torch.ones(2), p), "a tensor that torch.save", "--input f.x"),
    "list": (lambda p: torch_old([torch.ones(2)], p), "a list or tuple", "--input"),
    "object": (lambda p: torch.save(torch.Size([1]), p), "an object of torch.Size", "source"),
    "plain pickle": (
        lambda p: p.write_bytes(pickle.dumps(linear())),
        "torch.save did not write: a module of torch.nn.modules.linear.Linear", "torch.save(model",
    ),
    "plain values": (lambda p: p.write_bytes(pickle.dumps([1])), "plain values", "torch.save"),
    "safetensors": (lambda p: save_file({"a": torch.ones(2)}, p), "a safetensors file", "weights"),
    "sharded": (lambda p: p.write_text('{"weight_map": {}}'), "an index of weights", "--weights f"),
    "gguf": (lambda p: p.write_bytes(b"GGUF\x03\0\0\0"), "a GGUF file", "from_pretrained"),
    "mobile": (mobile, "for mobile, without its code", "torch.jit.save"),
    "aotinductor": (aotinductor, "an AOTInductor package", "torch.export.save"),
    "executorch": (lambda p: p.write_bytes(b"\x1c\0\0\0ET12 more"), "ExecuTorch", "PyTorch source"),
    "mar": (lambda p: zipped(p, ["MAR-INF/MANIFEST.json", "m.pt"]), "TorchServe", "unzip f.x"),
    "onnx": (onnx, "an ONNX model", "PyTorch source"),
    "tensorrt": (lambda p: p.write_bytes(b"ftrt" + bytes(9)), "a TensorRT engine", "source"),
    "openvino": (lambda p: p.write_text('<?xml ?>\n<net name="a">'), "an OpenVINO", "source"),
    "hdf5": (lambda p: p.write_bytes(b"\x89HDF\r\n\x1a\n"), "an HDF5 file", "Python file"),
    "keras": (lambda p: zipped(p, ["config.json", "model.weights.h5"]), "a Keras model", "Python"),
    "tflite": (lambda p: p.write_bytes(b"\x1c\0\0\0TFL3"), "a TensorFlow Lite", "Python"),
    "npy": (lambda p: arrays(p, np.save), "NumPy arrays", "--input f.x"),
    "npz": (lambda p: arrays(p, np.savez), "NumPy arrays", "--input"),
    "library": (lambda p: p.write_bytes(b"\x7fELF\x02"), "a compiled library", "`libraries`"),
    "wheel": (lambda p: zipped(p, ["a/b.py", "a-1.dist-info/WHEEL"]), "a Python wheel", "pip"),
    "notebook": (lambda p: p.write_text('{"cells": [], "nbformat": 4}'), "a notebook", "nbconvert"),
    "lfs": (
        lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"),
        "a Git LFS pointer", "git lfs pull",
    ),
    "html": (lambda p: p.write_text("<!DOCTYPE html><p>404"), "a web page", "again"),
    "gz": (lambda p: p.write_bytes(gzip.compress(b"x")), "a compressed file", "unpack"),
    "tar": (lambda p: tar_of(p), "a tar archive", "tar xf f.x"),
    "zip": (lambda p: zipped(p, ["a/b.txt"]), "a zip archive of an unknown kind", "unpack"),
    "config": (lambda p: p.write_text('{"a": null}'), "a configuration", "Python file"),
    "empty": (lambda p: p.write_bytes(b""), "empty", "Python file"),
    "noise": (lambda p: p.write_bytes(b"\x00\x01garbage"), "not a kind of file", "model.py:Net"),
    "text": (lambda p: p.write_text("one two three"), "not a kind of file", "model.py:Net"),
}  # fmt: skip


def tar_of(path):
    with tarfile.open(path, "w") as archive:
        archive.add(__file__, "x")


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_file_that_cannot_be_run_says_what_it_is_and_what_to_do(kind, folder):
    write, what, hint = REFUSED[kind]
    write(folder / "f.x")
    with pytest.raises(RequestError) as caught:
        parse_source("f.x")
    assert what in caught.value.message
    assert caught.value.message.startswith("f.x is ")
    assert caught.value.place == "f.x"
    assert hint in caught.value.hint
    assert caught.value.status == 2


MARKS = {
    "lfs": (0, b"version https://git-lfs.github.com/spec/"), "hdf5": (0, b"\x89HDF\r\n"),
    "gguf": (0, b"GGUF"), "tflite": (4, b"TFL3"), "executorch": (4, b"ET12"),
    "numpy": (0, b"\x93NUMPY"), "tensorrt": (0, b"ftrt"), "tensorrt plan": (0, b"ptrt"),
    "library": (0, b"\x7fELF"), "library of macOS": (0, b"\xcf\xfa\xed\xfe"),
    "library of Windows": (0, b"MZ"), "compressed": (0, b"\x1f\x8b"),
    "compressed by bzip2": (0, b"BZh"), "compressed by xz": (0, b"\xfd7zXZ"),
    "compressed by zstd": (0, b"\x28\xb5\x2f\xfd"), "compressed by 7z": (0, b"7z\xbc\xaf"),
    "compressed by rar": (0, b"Rar!"), "tar": (257, b"ustar"),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKS)
def test_a_magic_number_counts_at_its_position_only(name, folder):
    at, mark = MARKS[name]
    for shift, kind in ((0, name.split()[0]), (1, "unknown"), (-1, "unknown")):
        if at + shift >= 0:
            (folder / "f.x").write_bytes(b"\1" * (at + shift) + mark + b"\2\0")
            assert identify(folder / "f.x").kind == kind


@pytest.mark.parametrize(
    ("length", "data", "kind"),
    [
        (2, b"{}", "safetensors"),
        (1 << 27, b"{}", "safetensors"),  # its header was cut off
        ((1 << 27) + 1, b"{}", "unknown"),
        ((1 << 56) + 2, b"{}", "unknown"),
        (2, b"[]", "unknown"),
        (1 << 28, b"{" + bytes(1 << 28), "safetensors"),
    ],
)
def test_safetensors_begin_with_the_length_of_their_header(length, data, kind, folder):
    with (folder / "f.x").open("wb") as file:
        file.write(length.to_bytes(8, "little") + data[:2])
        file.truncate(8 + len(data))
    assert identify(folder / "f.x").kind == kind


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("", "f.x", "empty"), ("", "f.py", "python"), ("not python(", "f.py", "python"),
        ("  <!DOCTYPE HTML>", "f.x", "html"), ("<html>", "f.x", "html"),
        ("<?xml ?><net >", "f.x", "openvino"), ("<?xml ?><other>", "f.x", "unknown"),
        ("<net >", "f.x", "unknown"),
        ('{"cells": [], "nbformat": 4}', "f.x", "notebook"), ('{"cells": []}', "f.x", "config"),
        ('{"nbformat": 4}', "f.x", "config"), ('{"weight_map": {}}', "f.x", "index"),
        ("{1", "f.x", "unknown"), ("{1", "f.json", "config"), ("x: 1", "f.yaml", "config"),
        ("x = 1", "f.x", "python"), ("# only a comment", "f.x", "unknown"),
        ("\ufeffx = 1", "f.x", "python"), ("x = 1\0", "f.x", "unknown"), ("x", "f.onnx", "onnx"),
    ],
)  # fmt: skip
def test_a_text_is_told_by_its_beginning_or_its_suffix(text, name, kind, folder):
    (folder / name).write_text(text, encoding="utf-8")
    assert identify(folder / name).kind == kind


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["m/archive_format"], "exported"),
        (["m/archive_format", "m/models/a.json"], "exported"),
        (["m/archive_format", "m/data/aotinductor/a.so"], "aotinductor"),
        (["m/archive_format", "m/data/aotinductor/a.so", "m/models/a.json"], "exported"),
        (["m/archive_format", "m/data/aotinductor/a.so", "m/data/b"], "aotinductor"),
        (["m/archive_format", "m/.data/extern_modules"], "package"),
        (["m/constants.pkl", "m/code/a.py", "m/data.pkl"], "torchscript"),
        (["m/bytecode.pkl", "m/code/a.py", "m/data.pkl"], "torchscript"),
        (["m/constants.pkl", "m/data.pkl"], "mobile"), (["m/bytecode.pkl", "m/code/a"], "mobile"),
        (["a.npy", "b.npy"], "numpy"), (["a.npy", "b"], "zip"), ([], "zip"),
        (["a/b", "c-1.dist-info/WHEEL"], "wheel"), (["a/b", "c-1.dist-info/RECORD"], "zip"),
    ],
)  # fmt: skip
def test_an_archive_is_told_by_the_names_of_its_members(names, kind, folder):
    zipped(folder / "f.x", names)
    assert identify(folder / "f.x").kind == kind


def test_only_an_archive_of_torch_must_not_expand(folder):
    for name, kind in (("m/constants.pkl", "corrupt"), ("m/other", "zip")):
        with zipfile.ZipFile(folder / "f.x", "w") as archive:
            archive.writestr(name, b"\3\0")
            info = archive.getinfo(name)
            info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, (64 << 20) + 1
        assert identify(folder / "f.x").kind == kind


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("save", [torch.save, torch_old])
def test_what_torch_saved_is_told_by_its_values(save, folder):
    tensor = torch.ones(1)
    many = {**dict.fromkeys("abcdefgh", 1), 3: tensor}
    linear_ = "torch.nn.modules.linear.Linear"
    for value, expected in (
        ({"a": tensor, "b": tensor}, ("state_dict", "", ())),
        ({}, ("state_dict", "", ())),
        ({"a": tensor, "b": 1}, ("dict", "a, b", ())),
        (many, ("dict", "a, b, c, d, e, f", ())),
        ({3: tensor, "a": 1}, ("dict", "a", ())),
        ({"model": 3}, ("dict", "model", ())),
        ({"net": {"a": tensor}, "lr": 1}, ("dict", "net, lr", ())),
        ({"model": {"a": tensor}, "lr": 1}, ("checkpoint", "model, lr", ())),
        ({"lr": 1, "net": linear(), "ema": linear()},
         ("pickled", f"{linear_}, {linear_}", ("net", "ema"))),
        ([tensor], ("pickle", "a list or tuple", ())),
        ("text", ("pickle", "a plain value", ())),
    ):  # fmt: skip
        save(value, folder / "f.x")
        found = identify(folder / "f.x")
        assert (found.kind, found.detail, found.names) == expected


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ("text", "plain values"), (["text"], "plain values"), ({"a": 1}, "plain values"),
        (zipfile.ZipInfo, "an object of zipfile.ZipInfo"),
        (Counter("a"), "an object of collections.Counter"),
    ],
)  # fmt: skip
def test_what_pickle_saved_is_told_by_its_class(value, detail, folder):
    (folder / "f.x").write_bytes(pickle.dumps(value, 2))
    found = identify(folder / "f.x")
    assert (found.kind, found.detail) == ("plain_pickle", detail)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_file_of_the_old_format_that_ends_before_the_names_of_its_storages_is_damaged(folder):
    torch_old(linear(), folder / "f.x")
    with (folder / "f.x").open("rb") as file:
        for _ in range(4):
            read_pickle(file)
        end = file.tell()
    assert of_pickle(folder / "f.x")[0] == "pickled"
    os.truncate(folder / "f.x", end)
    assert of_pickle(folder / "f.x")[0] == "corrupt"


def test_a_file_that_is_not_there_is_no_damage(folder):
    for function in (of_zip, of_pickle):
        with pytest.raises(FileNotFoundError):
            function(folder / "missing")


def written(folder):
    net = made.modules(folder)
    made.script(folder / "a.bin", linear())
    made.exported(folder / "b.bin", linear(), torch.ones(2, 4))
    made.package(folder / "c.bin", {"model/model.pkl": linear()})
    torch.save(linear(), folder / "d.bin")
    torch_old(net.Net(), folder / "e.bin")
    made.forget()
    torch.save({"epoch": 1, "net": linear()}, folder / "f.bin")
    torch.save(torch.fx.symbolic_trace(linear()), folder / "g.bin")
    (folder / "h.bin").write_text("import torch\n")


def test_what_torch_writes_today_is_told_apart_whatever_its_name(folder):
    written(folder)
    assert [parse_source(f"{name}.bin") for name in "abcdefgh"] == [
        Archive("a.bin", "torchscript"),
        Archive("b.bin", "exported"),
        Archive("c.bin", "package", "model/model.pkl"),
        Archive("d.bin", "pickled"),
        Archive("e.bin", "pickled"),
        Archive("f.bin", "pickled", "net"),
        Archive("g.bin", "pickled"),
        PythonFile("h.bin", None),
    ]


def test_an_export_of_torch_before_2_8_is_one_too(folder):
    names = ["serialized_exported_program.json", "serialized_state_dict.pt", "version"]
    zipped(folder / "old.pt2", names)
    assert parse_source("old.pt2") == Archive("old.pt2", "exported")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_mobile_torchscript_that_still_has_its_code_is_torchscript(folder):
    torch.jit.script(linear())._save_for_lite_interpreter(str(folder / "m.ptl"))
    assert parse_source("m.ptl") == Archive("m.ptl", "torchscript")


def test_of_several_models_in_a_file_the_commands_are_listed(folder):
    torch.save({"ema": linear(), "model": linear()}, folder / "two.pt")
    made.package(folder / "two.pkg", {"a/b.pkl": linear(), "z/c.pkl": linear(), "a/n.pkl": [1]})
    for name, hint in (("two.pt", "`two.pt:ema` or `two.pt:model`"),
                       ("two.pkg", "`two.pkg:a/b.pkl` or `two.pkg:z/c.pkl`")):  # fmt: skip
        with pytest.raises(RequestError) as caught:
            parse_source(name)
        assert caught.value.hint == f"write {hint}"
    assert parse_source("two.pt:ema") == Archive("two.pt", "pickled", "ema")
    assert parse_source("two.pkg:z/c.pkl") == Archive("two.pkg", "package", "z/c.pkl")
    assert parse_source("two.pkg:a.b") == Archive("two.pkg", "package", "a/b.pkl")


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("c.pkg:model/modle.pkl", "try `c.pkg:model/model.pkl`"),
        ("d.pt:model", "write `d.pt`"),
        ("t.pt:layer", "write `t.pt`"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_part_that_is_not_there_is_refused(source, hint, folder):
    made.package(folder / "c.pkg", {"model/model.pkl": linear()})
    torch.save(linear(), folder / "d.pt")
    made.script(folder / "t.pt", linear())
    with pytest.raises(RequestError) as caught:
        parse_source(source)
    assert caught.value.hint == hint
    assert caught.value.place == source


def test_a_package_without_a_model_says_how_to_save_one(folder):
    made.package(folder / "c.pkg", {"a/n.pkl": [1]})
    with pytest.raises(RequestError, match="without a pickled model") as caught:
        parse_source("c.pkg")
    assert "save_pickle" in caught.value.hint


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ([".metadata", "__0_0.distcp"], "a distributed checkpoint"),
        (["saved_model.pb"], "a TensorFlow SavedModel"),
        (["config.json", "model.safetensors"], "a directory of pretrained weights"),
    ],
)
def test_a_folder_is_told_by_its_files(files, what, folder):
    (folder / "d").mkdir()
    for name in files:
        (folder / "d" / name).write_text("x")
    with pytest.raises(RequestError, match=what) as caught:
        parse_source("d")
    assert " d" in caught.value.hint or "Python file" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "files", "kind"),
    [
        ("d", [], "folder"),
        ("d.mlpackage", ["Manifest.json"], "coreml"),
        ("d", [".metadata"], "folder"),
        ("d", ["__0_0.distcp"], "folder"),
        ("d", ["config.json"], "folder"),
        ("d", ["model.safetensors"], "folder"),
        ("d", ["config.json", "pytorch_model-1.bin", "vocab.txt"], "pretrained"),
    ],
)
def test_a_folder_has_all_files_of_its_kind(name, files, kind, folder):
    (folder / name).mkdir()
    for file in files:
        (folder / name / file).touch()
    assert identify_folder(folder / name) == kind


@pytest.mark.parametrize("kind", ["script", "exported", "package", "pickled", "legacy"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_file_that_was_cut_off_is_damaged_and_no_request_to_mend(kind, folder):
    path = folder / "m.pt"
    if kind == "script":
        made.script(path, linear())
    elif kind == "exported":
        made.exported(path, linear(), torch.ones(2, 4))
    elif kind == "package":
        made.package(path, {"model/model.pkl": linear()})
    else:
        torch.save(linear(), path, _use_new_zipfile_serialization=kind == "pickled")
    data = path.read_bytes()
    sizes = (len(data) // 2, 300) if kind == "legacy" else (len(data) - 30, len(data) // 2, 300)
    for size in sizes:  # zips have their list at the end, old pickles raw tensors
        path.write_bytes(data[:size])
        with pytest.raises(ModelError, match="cannot be read") as caught:
            parse_source("m.pt")
        assert (caught.value.status, caught.value.place) == (3, "m.pt")
        assert "complete" in caught.value.hint


def test_telling_a_file_does_not_open_it(folder):
    mark = folder / "acted"
    (folder / "plain.pt").write_bytes(made.acting_pickle(mark))
    torch.save({"model": made.Acts(mark)}, folder / "zip.pt")
    torch_old(made.Acts(mark), folder / "old.pt")
    for name in ("plain.pt", "zip.pt", "old.pt"):
        with pytest.raises(RequestError):
            parse_source(name)
    assert not mark.exists()
