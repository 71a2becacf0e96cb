"""The functions of PyTorch that are watched: they do what they did, and are put back."""

from __future__ import annotations

import traceback

import pytest
import torch
import torch.distributed as dist
from torch import nn

from hookcli.training.observers import torch_calls
from hookcli.training.observers.torch_calls import WATCHED
from hookcli.training.script.plain_traceback import mend
from hookcli.training.script.watched_function import WATCHED_CODE
from tests.training.test_loops import steps_of, watched


def now():
    return {
        (id(owner), name): vars(owner)[name] for rows in WATCHED.values() for owner, name in rows
    }


def test_the_functions_are_replaced_while_a_training_is_watched_only():
    before, inside = now(), {}
    watched(lambda: inside.update(now()))
    assert now() == before
    assert {key for key in before if inside[key] is not before[key]} == set(before)
    for key, function in inside.items():
        assert function.__qualname__ == before[key].__qualname__


def test_nothing_is_replaced_any_more_once_the_script_compiles():
    before, inside = now(), {}

    def train():
        torch.compile(nn.Linear(2, 2))
        inside.update(now())

    watched(train)
    assert inside == before


def test_a_function_that_the_script_replaces_itself_stays(monkeypatch):
    def own(*_args):
        return 1.0

    monkeypatch.setattr(nn.utils, "clip_grad_norm_", nn.utils.clip_grad_norm_)  # puts it back
    watched(lambda: setattr(nn.utils, "clip_grad_norm_", own))
    assert nn.utils.clip_grad_norm_ is own


def test_a_traceback_has_no_frame_of_a_watched_function():
    lines = {}

    def train():
        net = nn.Linear(2, 2)
        with pytest.raises(RuntimeError, match="size mismatch") as caught:
            net.load_state_dict(nn.Linear(3, 2).state_dict())
        error = caught.value
        codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert WATCHED_CODE in codes
        mend(error)
        lines["after"] = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]

    watched(train)
    assert WATCHED_CODE not in lines["after"]
    assert lines["after"][-1] is nn.Module.load_state_dict.__code__


def test_a_watched_training_has_the_same_weights():
    def weights(watch):
        torch.manual_seed(0)
        net = nn.Linear(4, 2)
        train = steps_of(net)
        watched(train) if watch else train()
        return [p.tolist() for p in net.parameters()]

    assert weights(watch=True) == weights(watch=False)


def test_threads_of_process_groups_may_end_before_the_groups_are_destroyed(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(torch_calls, "_BEFORE", {"destroy_process_group": order.append})
    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)

    def train():
        assert dist.is_initialized()
        assert not order
        dist.destroy_process_group()

    watched(train)
    assert len(order) == 1
    assert not dist.is_initialized()
