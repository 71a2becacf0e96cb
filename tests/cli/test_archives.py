"""Files that hold a model, on a command line: trusted, damaged, of a newer torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.models import made

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
VERSION = {  # the member that says it, and a version to come
    "script": ("version", b"999\n"),
    "exported": (".data/version", b"999\n"),
    "package": (".data/version", b"999\n"),
    "pickled": ("version", b"999\n"),
}

STORED = {
    "script": "data/0", "exported": "data/weights/weight_0", "package": ".data/0.storage",
    "pickled": "data/0",
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    """Write a file of a kind."""

    def write(kind):
        model = nn.Sequential(nn.Linear(4, 3))
        path = tmp_path / ("m.pt2" if kind == "exported" else "m.pt")
        if kind == "script":
            return made.script(path, model)
        if kind == "exported":
            return made.exported(path, model, torch.ones(2, 4))
        if kind == "package":
            return made.package(path, {"model/model.pkl": model})
        torch.save(model, path)
        return path

    return write


@pytest.mark.parametrize("kind", VERSION)
def test_a_file_of_each_kind_is_run(kind, file, cli):
    result = cli("inspect", file(kind).name, "-f", "json", "--trust", "-i", "2x4")
    assert result.status == 0, result.err
    report = result.report
    assert [row["name"] for row in report["layers"]] == ["", "0"]
    assert report["model"]["format"] == {"script": "torchscript", "pickled": "python"}.get(
        kind, kind
    )


@pytest.mark.parametrize("kind", ["package", "pickled"])
def test_without_trust_nothing_is_opened(kind, file, cli, tmp_path):
    path = file(kind)
    result = cli("inspect", path.name, "-f", "json=r.json")
    _, place, hint = result.error()
    assert (result.status, place) == (2, "m.pt")
    assert "--trust" in hint
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("kind", VERSION)
def test_a_cut_file_ends_with_status_3_and_writes_nothing(kind, file, cli, tmp_path):
    path = file(kind)
    path.write_bytes(path.read_bytes()[:-40])
    result = cli("inspect", path.name, "--trust", "-f", "json=r.json")
    message, place, _ = result.error()
    assert (result.status, place) == (3, path.name)
    assert "cannot be read" in message
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("kind", VERSION)
def test_a_file_of_a_newer_torch_ends_with_status_3(kind, file, cli, tmp_path):
    path = file(kind)
    name, version = VERSION[kind]
    made.rewritten(path, {name: version})
    result = cli("inspect", path.name, "--trust", "-f", "json=r.json", "-i", "2x4")
    message, place, hint = result.error()
    assert (result.status, place) == (3, path.name)
    assert "newer" in message
    assert "torch" in hint
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("kind", VERSION)
def test_one_wrong_byte_ends_with_status_3(kind, file, cli):
    path = file(kind)
    data = bytearray(path.read_bytes())
    stored = made.member(path, STORED[kind])
    data[data.index(stored) + 5] ^= 0xFF
    path.write_bytes(bytes(data))
    result = cli("inspect", path.name, "--trust", "-i", "2x4")
    assert result.status == 3
    assert "checksum" in result.error()[0]


@pytest.mark.parametrize("kind", ["exported", "package", "pickled"])
def test_a_doctored_file_does_not_get_to_act(kind, file, cli, tmp_path):
    path, mark = file(kind), tmp_path / "acted"
    if kind == "exported":
        acting = made.saved({"a": made.Acts(mark)})
        made.rewritten(path, {"data/sample_inputs/model.pt": acting})
    else:
        name = "data.pkl" if kind == "pickled" else "model/model.pkl"
        whole = made.member(path, name)
        made.rewritten(path, {name: made.acting_pickle(mark)[:-1] + b"0" + whole})
    result = cli("inspect", path.name, "-i", "2x4")
    assert result.status == 2
    assert "--trust" in result.error()[2]
    assert not mark.exists()


def test_the_package_phase_is_shown_with_the_patterns(cli, tmp_path):
    (tmp_path / "helper_b.py").write_text("def f(x): return x\n")
    (tmp_path / "net.py").write_text(
        "from torch import nn\nimport helper_b\nclass Net(nn.Linear):\n"
        "    def __init__(self): super().__init__(4, 3)\n"
    )
    (tmp_path / "c.yaml").write_text("model: net.py\nrun: {package: {mock: helper_b}}\n")
    kinds = "package_intern,package_extern,package_mock"
    result = cli("trace", "-c", "c.yaml", "--kinds", kinds, "-i", "2x4", "-f", "json")
    assert result.status == 0, result.err
    rows = [(e["kind"][8:], e["target"], e["node"]) for e in result.report["events"]]
    assert rows[:2] == [("intern", "<model.model.pkl>", None), ("intern", "net", "net")]
    assert ("mock", "helper_b", "helper_b") in rows
    assert ("extern", "torch", None) in rows
