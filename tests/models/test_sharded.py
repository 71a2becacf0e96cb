"""Weights in several files: what is loaded equals one file, and an index cannot lie."""

from __future__ import annotations

import json
import string

import pytest
import torch
from hypothesis import given, settings, strategies as st
from safetensors.torch import save_file
from torch import nn

from hookcli.errors import ModelError, RequestError
from hookcli.models.files.weights import load_weights, read_weights
from tests.conftest import HEAD

INDEX = "model.safetensors.index.json"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight


def untied(net):
    """The state dict as save_pretrained writes it: a tied parameter under one name."""
    return {name: tensor for name, tensor in net.state_dict().items() if name != "head.weight"}


def write_shards(folder, state, owner, *, pickled=False):
    """Write each tensor into the file that `owner` gives its name, and the index."""
    suffix = "bin" if pickled else "safetensors"
    table = {name: f"part-{owner(name)}.{suffix}" for name in state}
    for file in set(table.values()):
        part = {name: state[name].clone() for name in state if table[name] == file}
        (torch.save if pickled else save_file)(part, folder / file)
    stem = "pytorch_model.bin" if pickled else "model.safetensors"
    index = folder / f"{stem}.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": table}))
    return index


@settings(max_examples=15, deadline=None, database=None)
@given(parts=st.integers(1, 6), pickled=st.booleans(), whole=st.booleans(), seed=st.integers(0, 99))
def test_any_division_gives_the_state_dict(tmp_path_factory, parts, pickled, whole, seed):
    folder = tmp_path_factory.mktemp("shards")
    torch.manual_seed(seed)
    saved, net = Net(), Net()
    index = write_shards(folder, untied(saved), lambda name: hash((name, seed)) % parts,
                         pickled=pickled)  # fmt: skip
    path = str(folder if whole else index)
    load_weights(net, read_weights(path, sizes_only=False), path)
    assert net.head.weight is net.embed.weight
    for name, tensor in saved.state_dict().items():
        assert torch.equal(net.state_dict()[name], tensor), name


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_a_folder_stands_for_the_file_in_it(tmp_path, name):
    state = untied(Net())
    (save_file if name.endswith("safetensors") else torch.save)(state, tmp_path / name)
    (part,) = read_weights(str(tmp_path), sizes_only=True)
    assert {key: (value.shape, value.device.type) for key, value in part.items()} == {
        key: (value.shape, "meta") for key, value in state.items()
    }


def test_files_are_read_one_after_the_other(tmp_path):
    index = write_shards(tmp_path, untied(Net()), lambda name: name.partition(".")[0])
    parts = read_weights(str(index), sizes_only=False)
    assert list(next(parts)) == ["embed.weight"]
    (tmp_path / "part-norm.safetensors").unlink()  # a file is opened when its turn comes
    assert all(name.startswith("layers.") for name in next(parts))
    with pytest.raises(RequestError, match=r"file not found: .*part-norm"):
        next(parts)


def change(edit):
    def apply(folder, index):
        data = json.loads(index.read_text())
        edit(data["weight_map"])
        index.write_text(json.dumps(data))

    return apply


def drop_from_shard(folder, index):
    save_file({"other": torch.ones(1)}, folder / "part-embed.safetensors")


def duplicate_key(folder, index):
    index.write_text('{"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}}')


@pytest.mark.parametrize(
    ("spoil", "kind", "message"),
    [
        (change(lambda m: m.update({"norm.bias": "../part-norm.safetensors"})), RequestError,
         "outside its folder"),
        (change(lambda m: m.update({"norm.bias": "/etc/passwd"})), RequestError, "outside its fo"),
        (change(lambda m: m.update({"norm.bias": "a\\b"})), RequestError, "outside its folder"),
        (change(lambda m: m.update({"norm.bias": 3})), RequestError, "for each tensor, got 3"),
        (change(lambda m: m.clear()), RequestError, "its weight_map is empty"),
        (change(lambda m: m.pop("norm.bias")), ModelError, "contains 'norm.bias', which the index"),
        (change(lambda m: m.update({"norm.bias": "part-embed.safetensors"})), ModelError,
         "'norm.bias' not found in"),
        (change(lambda m: m.update({"norm.bias": "gone.safetensors"})), RequestError,
         "file not found"),
        (drop_from_shard, ModelError, "'embed.weight' not found in"),
        (duplicate_key, ModelError, "duplicate key 'a'"),
        (lambda folder, index: index.write_text("{"), ModelError, "cannot read"),
        (lambda folder, index: (folder / "part-norm.safetensors").write_bytes(b"\xff" * 30),
         ModelError, "cannot read|contains more than"),
    ],
)  # fmt: skip
def test_an_index_that_does_not_fit_its_files_is_refused(tmp_path, spoil, kind, message):
    index = write_shards(tmp_path, untied(Net()), lambda name: name.partition(".")[0])
    spoil(tmp_path, index)
    with pytest.raises(kind, match=message) as caught:
        load_weights(Net(), read_weights(str(index), sizes_only=True), str(index))
    assert caught.value.place == f"--weights {index}"


@given(name=st.text(string.ascii_letters + "./\\:\0 -", max_size=12))
@settings(max_examples=60, deadline=None, database=None)
def test_no_name_in_an_index_leaves_its_folder(name):
    from hookcli.models.sources.weight_index import is_plain

    if is_plain(name):
        assert not set(name) & set("/\\:\0")
        assert name not in ("", ".", "..")


def test_a_missing_name_of_one_part_is_found_over_all_parts(tmp_path):
    state = untied(Net())
    del state["norm.bias"]
    index = write_shards(tmp_path, state, lambda name: name.partition(".")[0])
    with pytest.raises(ModelError, match=r"fit the model: missing: norm\.bias"):
        load_weights(Net(), read_weights(str(index), sizes_only=False), str(index))


@pytest.mark.parametrize(
    ("rename", "hint"),
    [(lambda n: f"bert.{n}", "names in the file begin with 'bert.'"),
     (lambda n: n.removeprefix("layers."), "lack the prefix 'layers.'"),
     (lambda n: f"module.{n}", "model.module.state_dict()")],
)  # fmt: skip
def test_a_prefix_that_differs_is_named(tmp_path, rename, hint):
    state = {rename(name): tensor for name, tensor in untied(Net()).items()}
    save_file(state, tmp_path / "model.safetensors")
    with pytest.raises(ModelError) as caught:
        load_weights(Net(), read_weights(str(tmp_path), sizes_only=True), "w")
    assert hint in caught.value.hint


def test_a_folder_without_weights_is_refused(cli, tmp_path):
    (tmp_path / "net.py").write_text(HEAD + "model = nn.Linear(2, 2)\n")
    (tmp_path / "w").mkdir()
    save_file({"weight": torch.ones(2, 2)}, tmp_path / "w" / "part.safetensors")
    done = cli("inspect", "net.py", "--weights", "w")
    message, place, hint = done.error()
    assert done.status == 2
    assert "w contains neither model.safetensors nor an index" in message
    assert place == "--weights w"
    assert hint == "pass a file: `--weights w/part.safetensors`"
