"""Weights in several files, of torch.distributed.checkpoint and of GGUF; and what is refused."""

from __future__ import annotations

import json
import os
import warnings

import pytest
import torch
from safetensors.torch import save_file

from hookcli.weights.comparing import compare
from hookcli.weights.inspection import inspect
from hookcli.weights.opening import is_weights, open_weights
from tests.conftest import run_cli
from tests.fuzz.corpus import gguf


def _state():
    generator = torch.Generator().manual_seed(0)
    return {f"layers.{i}.w": torch.randn(30, 40, generator=generator) for i in range(4)}


def _rows(path):
    return {
        row.name: row for row in inspect(open_weights(str(path), str(path)), values=True).tensors
    }


def _is_true(rows, state):
    assert rows.keys() == state.keys()
    for name, tensor in state.items():
        wide = tensor.double()
        assert rows[name].stats["norm"] == pytest.approx(wide.norm().item(), rel=1e-9)
        assert rows[name].stats["mean"] == pytest.approx(wide.mean().item(), rel=1e-9)
        assert rows[name].stats["std"] == pytest.approx(wide.std().item(), rel=1e-9)


@pytest.mark.parametrize("ending", ["safetensors", "bin"])
def test_the_files_of_an_index_are_read_together(ending, tmp_path):
    state = _state()
    stem = "model" if ending == "safetensors" else "pytorch_model"
    table = {}
    for at, part in enumerate((("layers.0.w",), ("layers.1.w", "layers.2.w", "layers.3.w"))):
        name = f"{stem}-{at}.{ending}"
        some = {key: state[key] for key in part}
        save_file(some, tmp_path / name) if ending == "safetensors" else torch.save(
            some, tmp_path / name
        )
        table |= dict.fromkeys(part, name)
    index = tmp_path / f"{stem}.{ending}.index.json"
    index.write_text(json.dumps({"weight_map": table}))
    for path in (tmp_path, index):
        rows = _rows(path)
        _is_true(rows, state)
        assert rows["layers.0.w"].file == f"{stem}-0.{ending}"


def test_a_distributed_checkpoint_is_read_and_equals_its_state(tmp_path):
    from torch.distributed.checkpoint import FileSystemWriter, save

    state = _state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(state, storage_writer=FileSystemWriter(tmp_path / "c"), no_dist=True)
    _is_true(_rows(tmp_path / "c"), state)
    save_file(state, tmp_path / "m.safetensors")
    sides = [open_weights(str(tmp_path / name), "x") for name in ("c", "m.safetensors")]
    assert compare(*sides).totals.same == 4


def test_a_gguf_file_is_read(tmp_path):
    (tmp_path / "m.gguf").write_bytes(gguf())
    rows = _rows(tmp_path / "m.gguf")
    assert rows["a.w"].shape == (2, 4)
    assert rows["a.w"].stats["norm"] == pytest.approx(
        torch.arange(8.0, dtype=torch.float64).norm().item(), rel=1e-9
    )
    assert (rows["a.h"].dtype, rows["a.h"].stats["mean"]) == ("bfloat16", 1.0)
    pytest.importorskip("gguf")
    assert (rows["a.q"].stats["mean"], rows["a.q"].stats["std"]) == (1.0, 0.0)


def test_what_cannot_be_read_is_told(tmp_path):
    sparse = torch.eye(3).to_sparse()
    torch.save({"s": sparse, "w": torch.ones(2)}, tmp_path / "m.pt")
    rows = _rows(tmp_path / "m.pt")
    assert rows["s"].stats is None
    assert "sparse" in f"{rows['s'].unread} {rows['s'].layout}"
    assert rows["w"].stats["mean"] == 1


def test_values_in_threads_are_those_of_one_thread(tmp_path, monkeypatch):
    from hookcli.weights import threads

    state = {f"{i}.w": torch.randn(700, 1000) for i in range(9)}
    save_file(state, tmp_path / "m.safetensors")
    found = []
    for processors in (1, 3):
        monkeypatch.setattr(threads, "_processors", lambda count=processors: count)
        found.append({name: row.stats for name, row in _rows(tmp_path / "m.safetensors").items()})
    assert found[0] == found[1]
    _is_true(_rows(tmp_path / "m.safetensors"), state)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_refused_at_once(kind, tmp_path):
    path = tmp_path / "m.safetensors"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    assert not is_weights(str(path))
    result = run_cli("inspect", str(path))
    assert result.status == 2
    assert result.err.count("\n") == 3


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path):
    save_file({"a\x1b[31m\nb": torch.ones(2)}, tmp_path / "m.safetensors", {"k\x1b": "\x1b]0;x\a"})
    for form in ("table", "tree", "markdown"):
        result = run_cli("inspect", str(tmp_path / "m.safetensors"), "-f", form)
        assert result.status == 0
        assert not {"\x1b", "\a"} & set(result.out)


def test_a_snapshot_holds_today_and_not_after_a_change(tmp_path):
    state = _state()
    save_file(state, tmp_path / "m.safetensors")
    checks = str(tmp_path / "checks.yaml")
    assert run_cli("snapshot", str(tmp_path / "m.safetensors"), "-o", checks).status == 0
    assert run_cli("check", "-c", checks).status == 0
    state["layers.1.w"] = state["layers.1.w"][:20].clone()
    save_file(state, tmp_path / "m.safetensors")
    result = run_cli("check", "-c", checks)
    assert result.status == 1
    assert "layers.1.w has shape [20, 40]" in result.out
    state["layers.1.w"] = torch.full((30, 40), float("nan"))
    save_file(state, tmp_path / "m.safetensors")
    assert "layers.1.w contains 1,200 NaN" in run_cli("check", "-c", checks).out


def test_pages_and_the_tree_have_every_tensor(tmp_path):
    state = _state()
    save_file(state, tmp_path / "a.safetensors")
    state["layers.2.w"] = state["layers.2.w"] + 1
    save_file(state, tmp_path / "b.safetensors")
    a, b = str(tmp_path / "a.safetensors"), str(tmp_path / "b.safetensors")
    for arguments in (("inspect", a), ("diff", a, b)):
        page = run_cli(*arguments, "-f", "html").out
        assert page.rstrip().endswith("</html>")
        assert all(name in page for name in state)
    tree = run_cli("diff", a, b, "-f", "tree").out
    assert tree.count("  same") == 3
    assert tree.count("  changed") == 1
