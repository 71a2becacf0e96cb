"""The parts of a distributed run that need no other rank: messages, shards, buckets, bytes."""

from __future__ import annotations

import os
import zlib
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import FileStore, HashStore

from hookcli.distributed import group as group_file
from hookcli.distributed.buckets import Buckets, hook_name
from hookcli.distributed.fsdp import _check_parts, _chosen, _local, _unmatched, shard
from hookcli.distributed.group import Group, backend_of, join, set_environment
from hookcli.engine.distributed import (
    _difference,
    _form,
    check_alike,
    ddp_options,
    exchange,
    wrap_in_ddp,
)
from hookcli.errors import ModelError, RequestError
from hookcli.spec.hooks import FunctionRef
from hookcli.spec.request import DistributedSpec, Rank

CPU = torch.device("cpu")
SPEC = DistributedSpec(place="run.distributed")


def rank(number=0, world=1, store=None, timeout=1.0):
    return Rank(number, world, number, world, store, timeout)


@pytest.fixture
def alone(tmp_path):
    """This process as the only rank of a group."""
    yield join(rank(store=str(tmp_path / "store")), SPEC, CPU)
    dist.destroy_process_group()


A, B = ("a", "[2] float32", True), ("b", "[3] float32", True)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ([B, A], "rank 1 has b, but rank 0 has a"),
        ([A, ("b", "[4] float32", True)], "b is [4] float32 on rank 1, but [3] float32 on rank 0"),
        ([A, ("b", "[3] float32", False)], "b is frozen on rank 1, but not on rank 0"),
        ([A], "rank 1 has 1 parameters, but rank 0 has 2"),
    ],
)
def test_the_first_difference_of_two_models_is_told(other, message):
    assert _difference([A, B], other, 1) == message


def test_a_parameter_that_is_trainable_on_one_rank_alone_is_told():
    frozen = ("a", "[2] float32", False)
    assert _difference([frozen], [A], 2) == "a is trainable on rank 2, but not on rank 0"


def test_the_form_of_a_parameter_that_has_no_shape_yet():
    assert _form(nn.LazyLinear(2).weight) == "uninitialized float32"
    assert _form(torch.ones(2, 3, dtype=torch.float16)) == "[2, 3] float16"


def test_models_that_differ_are_refused_on_each_rank():
    info = SimpleNamespace(name="a", tensor=nn.Parameter(torch.ones(2)))
    model = SimpleNamespace(parameters=lambda: [info])
    check_alike(model, SimpleNamespace(gather=lambda rows: [rows, rows]), "run.distributed")
    with pytest.raises(ModelError, match=r"rank 1 has 2 parameters, but rank 0 has 1"):
        check_alike(model, SimpleNamespace(gather=lambda rows: [rows, [*rows, B]]), "run")


def test_a_group_of_one_rank_exchanges_nothing(alone):
    assert alone.gather({"x": 1}) == [{"x": 1}]
    assert (alone.aside, alone.exact) == (None, None)
    assert alone.backend == "gloo"


def test_a_rank_that_ended_is_told_by_the_others(monkeypatch):
    def all_gather(tensors, tensor, group):
        raise RuntimeError("Connection closed by peer\nmore")

    monkeypatch.setattr(group_file.dist, "all_gather", all_gather)
    group = object.__new__(Group)
    group.number, group.world, group.aside = 1, 2, None
    with pytest.raises(ModelError) as caught:
        group.gather(3)
    assert caught.value.message == (
        "rank 1 lost the connection to the others: Connection closed by peer"
    )


def test_values_of_several_ranks_come_by_rank(monkeypatch):
    def all_gather(tensors, tensor, group):
        for i, target in enumerate(tensors):  # each rank sends the same
            target.copy_(tensor)
            assert i < 2

    monkeypatch.setattr(group_file.dist, "all_gather", all_gather)
    group = object.__new__(Group)
    group.number, group.world, group.aside = 0, 2, None
    assert group.gather({"loss": [0.5, "nan"]}) == [{"loss": [0.5, "nan"]}] * 2


def test_a_backend_that_this_torch_lacks_is_refused():
    spec = DistributedSpec(backend="nccl", place="run.distributed.backend")
    with pytest.raises(RequestError, match="does not support the backend 'nccl'"):
        join(rank(), spec, CPU)
    assert backend_of(SPEC, torch.device("cuda")) == "nccl"
    assert backend_of(SPEC, CPU) == "gloo"


def test_ranks_that_do_not_meet_are_told(monkeypatch):
    for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelError, match="rank 0 cannot connect to the others"):
        join(rank(), SPEC, CPU)


def test_the_environment_is_torchruns_own_for_local_ranks(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", {})
    set_environment(rank())
    assert os.environ == {}
    threads = torch.get_num_threads()
    try:
        set_environment(rank(1, 2, str(tmp_path)))
        assert torch.get_num_threads() == max(1, len(os.sched_getaffinity(0)) // 2)
    finally:
        torch.set_num_threads(threads)
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK")
    assert [os.environ[name] for name in names] == ["1", "1", "2", "2", "0"]
    assert os.environ["GLOO_SOCKET_IFNAME"] == "lo"


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)])
        self.extra = nn.ModuleDict({"head": nn.Linear(4, 2)})

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.extra["head"](self.stem(x))


@pytest.mark.parametrize(
    ("root", "globs", "names"),
    [
        (Blocks(), (), ["blocks.2", "blocks.0"]),
        (Blocks(), ("stem", "extra*"), ["extra.head", "stem"]),
        (Blocks(), ("blocks*",), ["blocks.2", "blocks.0"]),
        (nn.ModuleList([nn.Linear(2, 2), nn.ReLU()]), (), ["0"]),
        (nn.Linear(2, 2), (), []),
    ],
)
def test_the_units_are_the_blocks_of_a_list_or_what_is_named(root, globs, names):
    assert [name for name, _ in _chosen(root, globs)] == names


def test_a_glob_that_matches_no_module_is_refused():
    assert _unmatched(Blocks(), ("stem", "blocks.*")) is None
    assert _unmatched(Blocks(), ("stem", "block")) == "block"
    spec = DistributedSpec(wrap=("block",), place="run.distributed")
    with pytest.raises(RequestError) as caught:
        shard(Blocks(), spec, CPU, 1)
    assert caught.value.place == "run.distributed.wrap"


@pytest.mark.parametrize(
    ("root", "why"),
    [(nn.ReLU(), "it has no parameters"), (nn.LazyLinear(2), "it has uninitialized parameters")],
)
def test_a_model_that_cannot_be_sharded_is_refused(root, why):
    with pytest.raises(ModelError, match=why):
        _check_parts(root, "run.distributed")


def test_each_parameter_is_in_one_unit_and_classes_keep_their_names(alone):
    root = Blocks()
    rows = shard(root, DistributedSpec(reshard_after_forward=True), CPU, 1)
    assert {row.module: row.parameters for row in rows} == {
        "": ("stem.weight", "stem.bias", "extra.head.weight", "extra.head.bias"),
        "blocks.0": ("blocks.0.weight", "blocks.0.bias"),
        "blocks.2": ("blocks.2.weight", "blocks.2.bias"),
    }
    assert [row.bytes for row in rows] == [row.shard_bytes for row in rows] == [120, 80, 80]
    assert (type(root).__name__, type(root.blocks[0]).__name__) == ("Blocks", "Linear")
    assert _local(torch.ones(3)) == 12


def test_a_module_that_torch_does_not_shard_is_named(alone, monkeypatch):
    from hookcli.distributed import fsdp

    def fully_shard(module, **options):
        raise NotImplementedError("tied weights\nmore")

    monkeypatch.setattr(fsdp, "fully_shard", fully_shard)
    with pytest.raises(ModelError) as caught:
        shard(nn.Linear(2, 2), SPEC, CPU, 1)
    assert caught.value.message == "fully_shard does not support the model: tied weights"
    with pytest.raises(ModelError, match=r"does not support blocks\.2: tied weights"):
        shard(Blocks(), SPEC, CPU, 1)


@pytest.mark.parametrize(
    ("spec", "unused", "expected"),
    [
        ({}, False, {"find_unused_parameters": False}),
        ({}, True, {"find_unused_parameters": True}),
        ({"static_graph": True}, True, {"find_unused_parameters": False, "static_graph": True}),
        ({"find_unused_parameters": False}, True, {"find_unused_parameters": False}),
        ({"broadcast_buffers": False}, False, {"broadcast_buffers": False}),
        ({"bucket_cap_mb": 0.5}, False, {"bucket_cap_mb": 0.5}),
    ],
)
def test_the_arguments_of_ddp_are_those_that_were_given(spec, unused, expected):
    found = ddp_options(DistributedSpec(**spec), unused=unused)
    assert {name: found[name] for name in expected} == expected
    assert ("broadcast_buffers" in found) == ("broadcast_buffers" in spec)
    assert ("bucket_cap_mb" in found) == ("bucket_cap_mb" in spec)


def test_a_model_that_ddp_does_not_take_is_told(alone):
    with pytest.raises(ModelError, match="DistributedDataParallel does not support the model"):
        wrap_in_ddp(nn.ReLU(), {}, CPU, lambda state, bucket: None, "run.distributed")


class Bucket:
    """A bucket of DistributedDataParallel."""

    def __init__(self, buffer, parameters):
        self._buffer, self._parameters = buffer, parameters

    def buffer(self):
        return self._buffer

    def index(self):
        return 0

    def is_last(self):
        return True

    def parameters(self):
        return self._parameters


@pytest.mark.parametrize(
    ("values", "averaged", "error"),
    [
        ([3.0, 4.0], [3.0, 4.0], 0.0),
        ([3.0, 4.0], [0.0, 4.0], 0.6),
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([0.0, 0.0], [1.0, 0.0], None),
        ([3j, 4.0], [3j, 4.0], 0.0),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_bucket_is_compared_with_the_exact_mean(alone, values, averaged, error, listed):
    times, known = [], nn.Parameter(torch.ones(1))
    buckets = Buckets(
        alone, {id(known): "fc.weight"}, lambda *given: times.append(given[:2]), one_by_one=True
    )
    average = torch.futures.Future()
    average.set_result([torch.tensor(averaged)] if listed else torch.tensor(averaged))
    bucket = Bucket(torch.tensor(values), [known, nn.Parameter(torch.ones(1))])
    ended = buckets.take(3, bucket, lambda: average)
    result = ended.wait()
    assert (result[0] if listed else result).tolist() == averaged
    (row,) = buckets.rows
    assert row.parameters == ("fc.weight", "?")
    assert row.error == (None if error is None else pytest.approx(error))
    assert times == [(3, 0)]
    assert not buckets.would_mix
    assert row.wire_bytes == 0


def test_a_bucket_that_was_not_averaged_has_no_norm_after(alone):
    buckets = Buckets(alone, {}, None, one_by_one=False)
    never = torch.futures.Future()
    for _ in range(2):
        buckets.take(0, Bucket(torch.ones(2), []), lambda: never)
    row = buckets.rows[1]
    assert (row.order, row.norm_after, row.norm_exact, row.error, row.wire_bytes) == (
        1, None, None, None, None,
    )  # fmt: skip


def test_what_averages_is_named():
    def hook(*actions):
        return SimpleNamespace(spec=SimpleNamespace(actions=actions))

    def action(name, argument):
        return SimpleNamespace(name=name, argument=argument)

    assert hook_name(None) == "allreduce"
    assert hook_name(hook(action("stats", None))) == "allreduce"
    assert hook_name(hook(action("comm", {"name": "noop"}))) == "noop"
    own = FunctionRef("own.py:average", signature="native")
    assert hook_name(hook(action("call", own))) == "own.py:average"
    reads = FunctionRef("own.py:look", signature="event")
    assert hook_name(hook(action("call", reads))) == "allreduce"


def test_reports_of_other_ranks_come_to_rank_0(tmp_path, monkeypatch):
    monkeypatch.setattr("hookcli.engine.distributed._WAIT", 0.0)
    store = HashStore()
    assert exchange("one", rank(1, 4), store) == ()
    store.set("hookcli/report/2", b"not zlib")
    assert exchange("zero", rank(0, 4), store) == ("one", None, None)
    assert zlib.decompress(store.get("hookcli/report/1")) == b"one"
    file = FileStore(str(tmp_path / "store"), 1)
    assert exchange("zero", rank(0, 1), file) == ()
