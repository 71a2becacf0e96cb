"""The digests of several ranks come together through files, and other models are not compared."""

from __future__ import annotations

import dataclasses
import os
import sys

import torch
from torch import nn

from hookcli import whole_files
from hookcli.training.ranks import OtherRanks
from hookcli.training.roots import owner_of, unwrap
from hookcli.training.script import plain_traceback


@dataclasses.dataclass(frozen=True)
class Info:
    record: str
    digests: dict | None
    rank_digests: dict | None = None


@dataclasses.dataclass(frozen=True)
class Record:
    training: Info


def test_digests_of_all_ranks(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "3", "MASTER_PORT": "29500"}
    ranks = [OtherRanks.of_environment({**names, "RANK": str(rank)}) for rank in range(3)]
    ranks[0].open()
    ranks[1].leave([Record(Info("net", {0: "a", 2: "c"}))], ["form"])
    ranks[2].leave([Record(Info("net", {0: "z"}))], ["another form"])
    (record,), notes = ranks[0].collect(
        [Record(Info("net", {0: "a", 1: "b"}))], ["form"], wait=True
    )
    assert record.training.rank_digests == {
        0: ("a", "a", None, None), 1: ("b", None, None, None),
    }  # fmt: skip
    assert notes == ["parameters were compared only with those of ranks on this machine"]
    ranks[0].close()
    assert list(tmp_path.iterdir()) == []
    ranks[1].leave([Record(Info("net", {0: "a"}))], ["form"])  # too late
    assert list(tmp_path.iterdir()) == []
    assert OtherRanks.of_environment({"RANK": "0", "WORLD_SIZE": "1"}) is None


def _frames(model, x):
    try:
        model(x)
    except RuntimeError as error:
        plain_traceback.mend(error)
        trace, rows = error.__traceback__, []
        while trace is not None:
            positions = list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]
            rows.append((trace.tb_frame.f_code.co_name, trace.tb_lineno, positions))
            trace = trace.tb_next
        return rows


def test_a_traceback_has_no_trace_of_hooks(monkeypatch):
    model, x = nn.Sequential(nn.ReLU(), nn.Linear(3, 2)), torch.ones(1, 4)
    plain = _frames(model, x)

    def hook(*_):
        return None

    def of_user(*_):
        return None

    hook.__module__ = "hookcli.training.watch"
    handle = nn.modules.module.register_module_forward_pre_hook(hook)
    try:
        assert _frames(model, x) == plain or sys.version_info < (3, 11)
        model[1].register_forward_hook(of_user)
        assert "inner" in [name for name, *_ in _frames(model, x)]  # as without hookcli
    finally:
        handle.remove()


def test_a_scripted_module_has_no_inner_one():
    scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2)))
    assert unwrap(scripted) == (scripted, ())
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    assert owner_of(list(net.parameters())) is net


def test_one_rank_and_a_broken_environment_have_no_others():
    for names in ({}, {"WORLD_SIZE": "1"}, {"RANK": "x", "WORLD_SIZE": "2"}):
        assert OtherRanks.of_environment(names) is None


def test_without_digests_nothing_is_waited_for(tmp_path):
    ranks = OtherRanks(0, 2, 2, tmp_path)
    records = [Record(Info("net", None)), Record(None)]
    assert ranks.collect(records, ["a", "b"], wait=True) == (tuple(records), [])
    held = ranks.open()
    OtherRanks(1, 2, 2, tmp_path).leave(records, ["a", "b"])
    os.close(held)
    assert (tmp_path / "1").read_text() == "{}"


def test_the_folder_of_a_rank_0_that_was_killed_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {"WORLD_SIZE": "2", "MASTER_PORT": "1"}
    first, second = (OtherRanks.of_environment({**names, "RANK": str(r)}) for r in range(2))
    held = first.open()
    second.leave([Record(Info("net", {0: "a"}))], ["form"])
    assert [file.name for file in first.folder.iterdir()] == ["1"]
    os.close(held)  # as the system does
    second.leave([Record(Info("net", {0: "a"}))], ["form"])
    assert list(tmp_path.iterdir()) == []
    os.close(first.open())
    monkeypatch.setattr(whole_files, "_YOUNG", -60.0)
    later = OtherRanks.of_environment({**names, "MASTER_PORT": "2", "RANK": "0"})
    held = later.open()
    assert list(tmp_path.iterdir()) == [later.folder]
    later.close()
    os.close(held)


def test_a_rank_that_left_nothing_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("hookcli.training.ranks._PATIENCE", 0.0)
    ranks = OtherRanks(0, 2, 2, tmp_path)
    records = [Record(Info("net", {0: "a"})), Record(None), Record(Info("other", None))]
    joined, notes = ranks.collect(records, ["a", "b", "c"], wait=True)
    assert notes == ["parameters were not compared with those of rank 1"]
    assert joined[0].training.rank_digests == {0: ("a", None)}
    assert joined[1:] == tuple(records[1:])
    assert ranks.collect(records, ["a", "b", "c"], wait=False)[1] == []
    gone = OtherRanks(0, 2, 2, tmp_path / "gone")
    assert gone.collect(records[:1], ["a"], wait=False)[0][0].training.rank_digests == {
        0: ("a", None)
    }
    OtherRanks(1, 2, 2, tmp_path).close()  # rank 0's
    assert tmp_path.exists()
