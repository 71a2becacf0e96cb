"""The reports of several ranks come together through files in a folder of rank 0."""

from __future__ import annotations

import os
import sys

import torch
from torch import nn

from hookcli import whole_files
from hookcli.training.parallel.other_ranks import OtherRanks
from hookcli.training.roots import owner_of, unwrap
from hookcli.training.script import plain_traceback


def test_reports_of_all_ranks_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "3", "MASTER_PORT": "29500"}
    ranks = [OtherRanks.of_environment({**names, "RANK": str(rank)}) for rank in range(3)]
    ranks[0].open()
    ranks[2].leave("two \u00e9")
    ranks[1].leave("one")
    assert ranks[0].collect(wait=True) == ["one", "two \u00e9"]
    ranks[0].close()
    assert list(tmp_path.iterdir()) == []
    ranks[1].leave("too late")
    assert list(tmp_path.iterdir()) == []
    assert OtherRanks.of_environment({"RANK": "0", "WORLD_SIZE": "1"}) is None


def test_the_ranks_of_one_start_have_one_job():
    names = {"WORLD_SIZE": "4", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "a"}
    jobs = [OtherRanks.of_environment({**names, "RANK": str(rank)}).job for rank in range(4)]
    other = OtherRanks.of_environment({**names, "RANK": "1", "TORCHELASTIC_RUN_ID": "b"}).job
    assert len(set(jobs)) == 1 and other not in jobs


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


def test_the_folder_of_a_rank_0_that_was_killed_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {"WORLD_SIZE": "2", "MASTER_PORT": "1"}
    first, second = (OtherRanks.of_environment({**names, "RANK": str(r)}) for r in range(2))
    held = first.open()
    second.leave("report")
    assert [file.name for file in first.folder.iterdir()] == ["1"]
    os.close(held)  # as the system does
    second.leave("report")
    assert list(tmp_path.iterdir()) == []
    os.close(first.open())
    monkeypatch.setattr(whole_files, "_YOUNG", -60.0)
    later = OtherRanks.of_environment({**names, "MASTER_PORT": "2", "RANK": "0"})
    held = later.open()
    assert list(tmp_path.iterdir()) == [later.folder]
    later.close()
    os.close(held)


def test_a_rank_that_left_nothing_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("hookcli.training.parallel.other_ranks._PATIENCE", 0.0)
    assert OtherRanks(0, 2, 2, tmp_path).collect(wait=True) == []
    assert OtherRanks(0, 2, 2, tmp_path / "gone").collect(wait=True) == []
    OtherRanks(1, 2, 2, tmp_path).close()  # rank 0's
    assert tmp_path.exists()
