"""Files are checked while they are opened: damage, changes, no model, missing libraries."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
import zipfile
import zlib

import numpy
import pytest
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from hookcli.errors import HookcliError, ModelError, RequestError
from hookcli.models import places
from hookcli.models.files.integrity import checked_archive, damaged
from hookcli.models.files.missing_library import require_libraries
from hookcli.models.files.pickled import load_package, load_pickled
from hookcli.models.files.sharded import read_shards
from hookcli.models.files.tensor_writer import save_tensors, save_whole
from hookcli.models.files.tensors import read_tensors
from hookcli.models.sources.parse import Archive
from hookcli.spec.request import ModelSpec
from tests.models import made

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "START", tmp_path)
    return tmp_path


# A file that changes or is damaged


def failing(error):
    def fail():
        raise error

    return fail


REMOVED = "cannot read m.pt: No such file or directory"


@pytest.mark.parametrize(
    "error", [None, RequestError("x", place="", hint=""), ValueError("own code")]
)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.write_bytes(b"more bytes"), "m.pt changed while it was read"),
        (lambda path: os.utime(path, ns=(1, 1)), "m.pt changed while it was read"),
        (lambda path: path.unlink(), REMOVED),
    ],
)
def test_a_file_that_changed_meanwhile_is_the_reason_whatever_else_failed(
    folder, error, change, message
):
    path = folder / "m.pt"
    path.write_bytes(b"bytes")
    with pytest.raises(ModelError) as caught, checked_archive(path, "source"):
        change(path)
        if error is not None:
            raise error
    assert (caught.value.message, caught.value.place) == (message, "source")


def test_a_file_that_is_not_there_is_not_read(folder):
    with pytest.raises(ModelError) as caught, checked_archive(folder / "m.pt", "source"):
        pytest.fail("it is read")
    assert caught.value.message == REMOVED


@pytest.mark.parametrize(
    ("error", "of_file"),
    [
        (RuntimeError("PytorchStreamReader failed reading zip archive"), True),
        (ValueError("unexpected EOF"), True),
        (pickle.UnpicklingError("invalid load key, 'x'"), True),
        (pickle.UnpicklingError("a module refused"), False),
        (zipfile.BadZipFile("File is not a zip file"), True),
        (zlib.error("incorrect header"), True),
        (EOFError(), True),
        (RuntimeError("the code of the model"), False),
        (KeyError("unexpected EOF"), False),
    ],
)
def test_an_error_about_the_file_is_told_apart_from_one_of_the_code_in_it(folder, error, of_file):
    path = folder / "m.pt"
    path.write_bytes(b"bytes")
    with (
        pytest.raises(ModelError if of_file else type(error)) as caught,
        checked_archive(path, "source"),
    ):
        raise error
    assert (caught.value is error) is not of_file
    if of_file:
        assert caught.value.message.startswith("cannot read m.pt: ")


def test_torch_s_advice_is_not_part_of_the_reason(folder):
    text = "unexpected EOF, expected 5 more bytes. Exception raised from run at: (frame #0)"
    error = damaged(folder / "m.pt", "source", RuntimeError(text))
    assert error.message == "cannot read m.pt: unexpected EOF, expected 5 more bytes"
    text = "Attempted to read a PyTorch file with version {}, but the maximum supported version "
    error = damaged(folder / "m.pt", "", RuntimeError(f"{text.format(12)}for reading is 10."))
    assert "its format version is 12, and this torch reads up to 10" in error.message


def test_a_zip_is_checked_before_it_is_read(folder):
    path = made.script(folder / "m.pt", nn.Linear(4, 3))
    with checked_archive(path, ""):
        pass
    data = path.read_bytes()
    weight = zipfile.ZipFile(path).getinfo("m/data/0").header_offset + 64
    for what, changed, message in (
        ("a newer format", None, "a newer torch wrote this file"),
        ("a changed byte", data[:weight] + b"\xff" + data[weight + 1 :], "match its checksum"),
    ):
        made.rewritten(path, {"version": b"99\n"}) if changed is None else path.write_bytes(changed)
        with pytest.raises(ModelError, match=message), checked_archive(path, ""):
            pytest.fail(f"{what} is read")


def test_a_zip_that_expands_without_end_is_not_read(folder):
    with zipfile.ZipFile(folder / "m.pt", "w") as archive:
        archive.writestr("m/x", b"\3\0")
        info = archive.getinfo("m/x")
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, 1 << 33
    with pytest.raises(ModelError, match="expand"), checked_archive(folder / "m.pt", ""):
        pytest.fail("it is read")


# What is in a file instead of a model


def interrupt():
    raise KeyboardInterrupt


def leave():
    sys.exit(3)


class Calls:
    def __init__(self, function):
        self._function = function

    def __reduce__(self):
        return self._function, ()


def loaded(kind, path, value):
    """What hookcli makes of a value in a file, and the phases that it tells."""
    phases = []
    if kind == "package":
        made.package(path, {"model/model.pkl": value})
        named, load = Archive(path.name, "package", "model/model.pkl"), load_package
    else:
        torch.save(value, path)
        named, load = Archive(path.name, "pickled"), load_pickled
    return load(named, ModelSpec(path.name, trust=True), phases.append), phases


@pytest.mark.parametrize("kind", ["package", "pickled"])
def test_the_module_in_a_file_is_loaded(kind, folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    model = nn.Linear(4, 3)
    found, phases = loaded(kind, folder / "m.pt", model)
    assert found.root.weight.equal(model.weight)
    assert phases == ["import"]


@pytest.mark.parametrize(
    ("function", "kind", "raised", "message"),
    [
        (interrupt, "pickled", KeyboardInterrupt, None),
        (interrupt, "package", KeyboardInterrupt, None),
        (leave, "pickled", ModelError, "cannot open m.pt: SystemExit: 3"),
        (leave, "package", ModelError, "cannot open model/model.pkl: SystemExit: 3"),
        (list, "pickled", RequestError, "m.pt must contain an nn.Module, got list"),
        (list, "package", RequestError, "model/model.pkl must be an nn.Module, got list"),
    ],
)
def test_what_is_not_a_module_or_ends_the_interpreter_is_told(
    function, kind, raised, message, folder, monkeypatch
):
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(raised) as caught:
        loaded(kind, folder / "m.pt", Calls(function))
    if message is not None:
        assert isinstance(caught.value, HookcliError)
        assert caught.value.message == message
        own = caught.value.place.rpartition(":")[0] == __file__  # the line that raised
        assert own if function is leave else caught.value.place == "m.pt"


def warned():
    warnings.warn("the source of the class changed", stacklevel=1)
    return nn.Linear(4, 3)


@pytest.mark.parametrize("kind", ["package", "pickled"])
def test_warnings_while_a_file_is_opened_are_not_told(kind, folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, _ = loaded(kind, folder / "m.pt", Calls(warned))
    assert isinstance(found.root, nn.Linear)
    assert told == []


@pytest.mark.parametrize("kind", ["package", "pickled"])
def test_damage_is_left_to_who_checks_the_file(kind, folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = folder / "m.pt"
    path.write_bytes(b"PK\3\4 and no more")
    load = load_package if kind == "package" else load_pickled
    named = Archive("m.pt", kind, "model/model.pkl" if kind == "package" else None)
    with pytest.raises(RuntimeError, match="PytorchStreamReader"):
        load(named, ModelSpec("m.pt", trust=True), str)
    with pytest.raises(RequestError, match="when it is opened"):
        load(named, ModelSpec("m.pt"), str)


# Files of tensors


def test_a_library_that_is_not_installed_is_named_with_its_package(monkeypatch):
    require_libraries("this", ["json", "wave"], "here")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for name in ("safetensors", "hookcli_has_no_such_module"):
        with pytest.raises(RequestError) as caught:
            require_libraries("reading x", ["json", name], "here")
        assert caught.value.message.startswith(f"reading x requires {name}, which is not installed")
        assert f"install {name}" in caught.value.hint
        assert caught.value.place == "here"


def test_a_path_without_a_file_of_tensors_says_why(folder, monkeypatch):
    save_file({"a": torch.ones(2)}, folder / "a.safetensors")
    assert read_tensors("a.safetensors", "")["a"].tolist() == [1, 1]
    (folder / "d").mkdir()
    for name, message in (("gone.npy", "file not found: gone.npy"), ("d", "d is a directory")):
        with pytest.raises(RequestError, match=message) as caught:
            read_tensors(name, "here")
        assert (caught.value.place, caught.value.hint) == (
            "here", "give a .safetensors, .pt or .npy file",
        )  # fmt: skip
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(RequestError, match=r"^reading a\.safetensors requires safetensors"):
        read_tensors("a.safetensors", "here")


def test_an_array_of_objects_does_not_get_to_act(folder):
    acting = numpy.array([made.Acts(folder / "acted")], dtype=object)
    numpy.save(folder / "x.npy", acting, allow_pickle=True)
    with pytest.raises(RequestError, match="opening it could run code"):
        read_tensors("x.npy", "")
    assert not (folder / "acted").exists()
    numpy.load(folder / "x.npy", allow_pickle=True)
    assert (folder / "acted").exists()


def test_the_parts_of_an_index_that_cannot_be_read_are_told(folder):
    index = folder / "m.index.json"
    with pytest.raises(RequestError, match="No such file") as caught:
        [*read_shards("m.index.json", "here", device="cpu")]
    assert caught.value.hint == "check the file's permissions"
    index.write_text('{"weight_map": {"a": "a.pt", "b": "b.pt"}}')
    torch.save([1, 2], folder / "a.pt")
    torch.save({"b": torch.ones(1)}, folder / "b.pt")
    first, second = read_shards("m.index.json", "here", device="cpu")
    assert first == [1, 2]  # for the caller to refuse
    assert list(second) == ["b"]
    (folder / "b.pt").unlink()
    with pytest.raises(RequestError, match=r"file not found: b\.pt") as caught:
        [*read_shards("m.index.json", "here", device="cpu")]
    assert caught.value.hint == "add the missing part of the weights"
    index.write_text('{"weight_map": {"a": "a.pt", "b": "b.pt", "b": "c.pt"}}')
    with pytest.raises(ModelError, match="duplicate key 'b'"):
        [*read_shards("m.index.json", "here", device="cpu")]


# Files that are written


def test_a_failure_of_torch_is_not_taken_for_one_of_the_disk(folder, monkeypatch):
    (folder / "old.pt").write_bytes(b"old")

    def fail(*_):
        raise RuntimeError("of torch itself")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(RuntimeError, match="of torch itself"):
        save_whole(1, folder / "old.pt")
    assert [(file.name, file.read_bytes()) for file in folder.iterdir()] == [("old.pt", b"old")]


@pytest.mark.parametrize(
    ("message", "raised", "text"),
    [
        ("Error: I/O error: No space left on device (os error 28)", OSError, "No space left"),
        ("Error: the header is too large", SafetensorError, "the header is too large"),
    ],
)
def test_an_error_of_safetensors_tells_what_the_system_said(
    folder, monkeypatch, message, raised, text
):
    def fail(*_, **__):
        raise SafetensorError(message)

    save_tensors({"a": torch.ones(2)}, folder / "a.safetensors", {"key": "value"})
    with safe_open(folder / "a.safetensors", "pt") as file:
        assert file.metadata() == {"key": "value"}
    monkeypatch.setattr(safetensors.torch, "save_file", fail)
    with pytest.raises(raised, match=text):
        save_tensors({"a": torch.ones(2)}, folder / "a.safetensors")
    assert read_tensors("a.safetensors", "")["a"].tolist() == [1, 1]
