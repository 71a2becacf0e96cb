"""A model that breaks the process it runs in: its own failure, in three lines, never a bug."""

from __future__ import annotations

import builtins
import json
import sys

import pytest

from hookcli.worker.child.process_state import ProcessState
from hookcli.worker.last_event import LastEvent, LastEventReader, LastEventWriter
from hookcli.worker.process import shared_memory
from hookcli.worker.protocol import DamagedAnswerError, FailureMessage, Inbox, send_answer
from tests.worker.running import model

JSON = ("-i", "2x4", "--tensors", "real", "-f", "json")
EVERY = (
    "for fd in [int(n) for n in os.listdir('/proc/self/fd')] + list(range(300)):\n"
    "    try: {}\n    except OSError: pass"
)
REPLACED = {
    "isinstance": "import builtins\nbuiltins.isinstance = lambda *_: False",
    "len": "import builtins\nbuiltins.len = lambda _: 7",
    "all builtins": "import builtins\nvars(builtins).clear()",
    "sys.path": "sys.path = None",
    "json": "import json\njson.JSONEncoder.iterencode = json.JSONEncoder.encode = None",
    "attributes of tensors": "torch.Tensor.shape = torch.Tensor.dtype = None",
    "torch": "for name in [*vars(torch)]:\n    setattr(torch, name, None)",
    "all dictionaries": (
        "import gc\nfor found in gc.get_objects():\n    if type(found) is dict: found.clear()"
    ),
    "its own storage": "self.__dict__.clear()",
    "a table of its own": "self._modules = None",
}
ENDED = {
    "truncates all descriptors": EVERY.format("os.ftruncate(fd, 0)"),
    "closes all descriptors": EVERY.format("os.close(fd)"),
}
SURVIVED = {
    "writes to all descriptors": EVERY.format(r"os.write(fd, b'garbage\n' * 9)"),
    "writes over all files": EVERY.format(r"os.pwrite(fd, b'\xff' * 5000, 0)"),
}


@pytest.mark.parametrize("name", [*REPLACED, *ENDED])
def test_sabotage_is_the_models_failure(lab, name):
    result = lab.run(model(forward={**REPLACED, **ENDED}[name]), *JSON, real=name in ENDED)
    if name == "isinstance" and result.status == 0:
        return  # a short run may not call it again
    assert result.status == 3
    lines = result.err.splitlines()[-3:]
    assert [line.split(": ")[0].strip()[:3] for line in lines] == ["err", "-->", "hin"]
    assert "Traceback" not in result.err and "hookcli failed" not in result.err


OVERRIDDEN = {
    "named_children": "def named_children(self):\n        yield 3",
    "__getattribute__": "def __getattribute__(self, name):\n        return None",
    "itself": "def __init__(self):\n        super().__init__()\n        self._modules['me'] = self",
}


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_what_a_class_overrides_is_named(lab, name):
    source = f"""
from torch import nn


class Net(nn.Module):
    {OVERRIDDEN[name]}

    def forward(self, x):
        return x
"""
    result = lab.run(source, *JSON)
    assert result.status == 3
    assert name in result.err and "hookcli failed" not in result.err
    assert "  --> model.py:5\n" in result.err


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("parameters", ["self, loader, epochs", "self", "self, mode"])
def test_train_may_be_something_else_than_torchs(lab, parameters, mode):
    """It is called if it can be called as torch's; otherwise torch's own is used."""
    source = f"""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.called, self.drop = False, nn.Dropout()

    def train({parameters}):
        self.called = True
        return super().train({"mode" if "mode" in parameters else ""})

    def forward(self, x):
        assert self.drop.training == ({mode!r} == "train")
        assert self.called == {"mode" in parameters}
        return self.drop(x)
"""
    result = lab.run(source, *JSON, "--mode", mode)
    assert result.status == 0, result.err


def test_a_model_that_forks_while_it_is_built_is_inspected(lab):
    result = lab.run(model(build="os.fork()"), *JSON)
    assert result.status == 0, result.err
    assert [row["name"] for row in result.report["layers"]] == ["", "first", "bad"]


def test_a_module_that_comes_to_contain_itself_is_inspected(lab):
    result = lab.run(model(forward="self._modules['me'] = self"), *JSON)
    assert result.status == 0, result.err
    assert "bad" in [row["name"] for row in result.report["layers"]]


@pytest.mark.parametrize("name", SURVIVED)
def test_what_a_model_writes_to_the_pipes_is_not_taken_for_the_report(lab, name):
    result = lab.run(model(forward=SURVIVED[name]), *JSON, real=True)
    assert result.status == 0, result.err
    assert [row["name"] for row in result.report["layers"]] == ["", "first", "bad"]


def test_a_model_that_replaces_the_functions_of_the_collector_is_shown(lab):
    replaced = "import gc\ngc.collect = gc.freeze = gc.disable = gc.set_threshold = None"
    result = lab.run(model(forward=replaced), *JSON, real=True)
    assert result.status == 0, result.err


def test_garbage_is_collected_while_a_model_runs(lab):
    shown = "import gc\nprint(gc.isenabled(), gc.get_threshold())"
    result = lab.run(model(forward=shown), *JSON, real=True)
    assert result.status == 0, result.err
    assert "True (10000, 10, 20)" in result.err


@pytest.mark.parametrize("text", ["'x' * 20_000_000", "'x\\n' * 5_000_000"])
def test_a_message_of_megabytes_is_cut(lab, text):
    result = lab.run(model(forward=f"raise RuntimeError({text})"), *JSON)
    assert result.status == 3
    message = result.report["error"]["message"]
    assert len(message) < 11_000 and " characters] " in message
    assert len(result.err) < 100_000


def test_a_chain_of_many_exceptions_is_reported_by_its_last(lab):
    forward = """
    error = None
    for i in range(5_000):
        new = ValueError(str(i))
        new.__cause__, error = error, new
    raise error
    """
    result = lab.run(model(forward=forward), *JSON)
    assert result.status == 3
    assert result.report["error"]["message"] == "4999"


def test_restore_names_what_was_replaced_and_undoes_it():
    state = ProcessState()
    kept = builtins.isinstance, json.dumps, sys.path, sys.modules["json"]
    try:
        builtins.isinstance = None
        json.dumps = None
        sys.path = None
        del sys.modules["json"]
        found = state.restore()
    finally:
        builtins.isinstance, json.dumps, sys.path, sys.modules["json"] = kept
    assert found == ("isinstance", "sys.modules", "sys.path", "json.dumps")
    assert state.restore() == ()


def test_what_a_model_adds_is_not_a_replacement():
    state = ProcessState()
    builtins.of_the_model = 1
    sys.path.append("/of/the/model")
    try:
        assert state.restore() == ()
    finally:
        del builtins.of_the_model
        sys.path.remove("/of/the/model")


class Pipe:
    """What a child sends, as the parent would read it."""

    def __init__(self, token=b"t" * 16):
        self.box = Inbox(token)
        self.box.feed(b"hookcli 3.11\n")

    def sent(self, token=b"t" * 16):
        import os

        read, write = os.pipe()
        try:
            send_answer(write, FailureMessage("forward", None), token)
            return os.read(read, 1 << 16)
        finally:
            os.close(read)
            os.close(write)


def test_an_answer_is_found_among_other_bytes_and_read_in_parts():
    pipe = Pipe()
    data = b"garbage\n" * 50 + pipe.sent()
    for at in range(0, len(data), 7):
        assert pipe.box.answer() is None
        pipe.box.feed(data[at : at + 7])
    assert pipe.box.answer() == FailureMessage("forward", None)


def test_bytes_inside_an_answer_are_noticed():
    pipe = Pipe()
    data = pipe.sent()
    pipe.box.feed(data[:30] + b"garbage" + data[30:])
    with pytest.raises(DamagedAnswerError):
        pipe.box.answer()


def test_an_answer_with_another_token_is_none():
    pipe = Pipe()
    pipe.box.feed(pipe.sent(b"x" * 16))
    assert pipe.box.answer() is None


@pytest.mark.parametrize("damage", [b"", b"\xff" * 9000, b"\0" * 4097])
def test_a_damaged_file_of_events_gives_an_event_without_a_layer(damage):
    import os

    events, dump = shared_memory(), shared_memory()
    reader = LastEventReader(events, dump)
    LastEventWriter(events).write(LastEvent("forward", "fc", 0, "m.py:1"))
    assert reader.last().layer == "fc"
    os.ftruncate(events, 0)
    os.pwrite(events, damage, 0)
    assert reader.last() == LastEvent("run", None, None, None)
    os.close(events)
    os.close(dump)
