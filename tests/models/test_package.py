"""A torch.package archive, and a module that was pickled whole, run as what they hold."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest
import torch
from torch import nn

from hookcli.config.constructor_args import parse_arguments
from hookcli.engine.attempt import Session
from hookcli.errors import ModelError, RequestError
from hookcli.report.encode import to_json
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Attempt, ModelSpec, RunSpec, Spec
from tests.hooks.running import hook
from tests.models import made

FIRST = [
    ("", "Net", [2, 4]), ("first", "Block", [2, 4]), ("first.fc", "Linear", [2, 4]),
    ("second", "Block", [2, 4]), ("second.fc", "Linear", [2, 4]),
]  # fmt: skip


@pytest.fixture
def archive(tmp_path, monkeypatch):
    net = made.modules(tmp_path)
    path = made.package(tmp_path / "m.pt", {"model/model.pkl": net.Net()})
    made.forget()
    for name in ("packed_net.py", "packed_helper.py"):
        (tmp_path / name).unlink()
    return path


def run(path, *inputs, tensors="real", command="inspect", hooks=(), **model):
    spec = Spec(
        command,
        ModelSpec(str(path), trust=True, **model),
        inputs=parse_inputs(inputs),
        hooks=tuple(hooks),
        run=RunSpec(loss="sum"),
    )
    return Session(spec, Attempt(tensors), lambda *_: None).run().report


@pytest.mark.parametrize("tensors", ["real", "fake"])
def test_the_rows_of_a_package_are_those_of_its_model(archive, tensors):
    report = run(archive, "2x4", tensors=tensors)
    assert [(r.name, r.type, list(r.inputs[0].shape)) for r in report.layers] == FIRST
    assert (report.model.format, report.model.type) == ("package", "Net")
    assert report.layers[0].outputs[0].path == ".y"


def test_places_are_lines_of_the_files_in_the_archive(archive):
    report = run(archive, "2x4")
    assert report.model.place == f"{archive}/packed_net.py:{made.NET}"
    assert report.layers[2].place.startswith(f"{archive}/packed_net.py:")


def test_names_are_those_that_the_user_wrote(archive):
    for size in ("2x4", "3x4", "5x4"):
        assert "torch_package" not in to_json(run(archive, size))


def test_what_raises_in_a_package_has_its_line(archive):
    error = run(archive, "3x4").error
    assert (error.type, error.layer, error.message) == ("ValueError", "first", "three")
    assert error.place == f"{archive}/packed_net.py:{made.RAISES}"


def test_what_is_mocked_raises_on_use_at_the_line_that_uses_it(archive):
    error = run(archive, "5x4").error
    assert error.type == "NotImplementedError"
    assert "packed_helper.double" in error.message
    assert error.place == f"{archive}/packed_net.py:{made.RAISES + 1}"


def test_hooks_stand_on_a_packaged_model(archive):
    hooks = [hook("forward", "first.fc", ("scale", 0.0)), hook("tensor", "second.fc.weight")]
    report = run(archive, "2x4", hooks=hooks, command="trace")
    assert [(e.kind, e.target) for e in report.events] == [
        ("forward", "first.fc"), ("tensor", "second.fc.weight"),
    ]  # fmt: skip
    assert report.events[0].changed > 0


def test_weights_go_into_a_packaged_model(archive, tmp_path):
    torch.save({"fc.weight": torch.ones(1)}, tmp_path / "w.pt")
    with pytest.raises(ModelError, match=r"missing: first.fc.weight"):
        run(archive, "2x4", weights=str(tmp_path / "w.pt"))


def test_a_resource_that_is_no_model_is_refused(tmp_path):
    path = made.package(tmp_path / "m.pt", {"a/m.pkl": nn.Linear(4, 3), "a/n.pkl": [1]})
    with pytest.raises(RequestError, match=r"must be an nn\.Module, got list"):
        run(f"{path}:a/n.pkl", "2x4")
    assert run(f"{path}:a/m.pkl", "2x4").model.type == "Linear"


def test_what_a_package_leaves_out_must_be_installed(tmp_path):
    (tmp_path / "packed_net.py").write_text(
        "import torch\nfrom torch import nn\nimport absent_one\nclass Net(nn.ReLU): pass\n"
    )
    (tmp_path / "absent_one.py").write_text("")
    sys.path.insert(0, str(tmp_path))
    import packed_net

    path = made.package(tmp_path / "m.pt", {"model/model.pkl": packed_net.Net()})
    sys.path.remove(str(tmp_path))
    made.forget()
    sys.modules.pop("absent_one")
    with pytest.raises(ModelError, match="requires absent_one, which is neither") as caught:
        run(path, "2x4")
    assert caught.value.hint.startswith("install absent_one")
    assert caught.value.place == f"{path}/packed_net.py:3"


def test_one_wrong_byte_in_a_weight_is_told(archive):
    with zipfile.ZipFile(archive) as members:
        name = next(n for n in members.namelist() if n.endswith("0.storage"))
        content = members.read(name)
    data = bytearray(archive.read_bytes())
    data[data.index(content)] ^= 0xFF
    archive.write_bytes(bytes(data))
    with pytest.raises(ModelError, match="checksum") as caught:
        run(archive, "2x4")
    assert caught.value.place == str(archive)


def test_an_archive_of_a_newer_torch_says_so(archive):
    made.rewritten(archive, {".data/version": b"999\n"})
    with pytest.raises(ModelError, match="a newer torch wrote") as caught:
        run(archive, "2x4")
    assert "use that torch" in caught.value.hint


# Pickled whole


def pickled(tmp_path, value=None, **how):
    net = made.modules(tmp_path)
    torch.save(net.Net() if value is None else value(net), tmp_path / "m.pt", **how)
    made.forget()
    return tmp_path / "m.pt"


@pytest.mark.parametrize("new", [True, False])
def test_a_pickled_module_is_run_with_the_class_that_lies_beside_it(new, tmp_path):
    path = pickled(tmp_path, _use_new_zipfile_serialization=new)
    report = run(path, "2x4")
    made.forget()
    assert [(r.name, r.type, list(r.inputs[0].shape)) for r in report.layers] == FIRST
    assert report.model.format == "python"
    assert report.model.place == f"{tmp_path}/packed_net.py:{made.NET}"


def test_a_module_in_a_checkpoint_is_found_by_its_key(tmp_path):
    path = pickled(tmp_path, lambda net: {"epoch": 1, "ema": net.Block(), "model": net.Net()})
    assert run(f"{path}:ema", "2x4").model.type == "Block"
    made.forget()


def test_a_class_that_is_gone_is_named(tmp_path):
    path = pickled(tmp_path)
    (tmp_path / "packed_net.py").unlink()
    with pytest.raises(ModelError, match="requires the module 'packed_net'") as caught:
        run(path, "2x4")
    assert "folder" in caught.value.hint


def test_a_class_of_the_script_that_saved_it_says_the_way_out(tmp_path):
    (tmp_path / "train.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.ReLU): pass\ntorch.save(Net(), 'm.pt')\n"
    )
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True)
    with pytest.raises(ModelError, match="requires Net, which was defined in the script") as caught:
        run(tmp_path / "m.pt", "2x4")
    assert "--weights" in caught.value.hint


def test_arguments_for_what_is_built_are_refused(tmp_path):
    path = pickled(tmp_path)
    with pytest.raises(RequestError, match="built model") as caught:
        run(path, "2x4", args=parse_arguments(("depth=3",)))
    assert caught.value.place == "--arg depth=3"


# A file that does not stay as it is


@pytest.mark.parametrize("what", ["changes", "vanishes"])
def test_a_file_that_changes_or_vanishes_while_it_is_read_is_told(what, tmp_path):
    """The model's own code does it, as it is unpickled."""
    class_code = (
        "import os\nfrom torch import nn\nclass Net(nn.ReLU):\n"
        "    def __setstate__(self, state):\n"
        "        super().__setstate__(state)\n"
        f"        path = {str(tmp_path / 'm.pt')!r}\n"
        + ("        os.utime(path, (1, 1))\n" if what == "changes" else "        os.unlink(path)\n")
    )
    (tmp_path / "unsteady.py").write_text(class_code)
    sys.path.insert(0, str(tmp_path))
    import unsteady

    torch.save(unsteady.Net(), tmp_path / "m.pt")
    sys.path.remove(str(tmp_path))
    with pytest.raises(ModelError) as caught:
        run(tmp_path / "m.pt", "2x4")
    sys.modules.pop("unsteady")
    assert ("changed while" if what == "changes" else "No such file") in caught.value.message
    assert caught.value.place == str(tmp_path / "m.pt")
