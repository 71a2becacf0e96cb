"""The journal of a training in this process, against the losses that plain PyTorch computes."""

from __future__ import annotations

import errno
import json
import os
import signal
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from hookcli.config.presets import preset_hooks
from hookcli.errors import RequestError
from hookcli.report.encode import training_to_json
from hookcli.report.journal import journal_file
from hookcli.report.journal.ask_files import ask_file, leave_ask, parse_range, take_ask
from hookcli.report.journal.journal_entries import asks_of, header_line
from hookcli.report.journal.journal_file import PREVIOUS, JournalFile
from hookcli.report.journal.journal_reader import JournalReader
from hookcli.report.schema import training_from_json
from hookcli.report.training import ScriptInfo
from hookcli.spec.request import ModelSpec, Spec
from hookcli.spec.training import JournalPlace, RunJob, ScriptSpec, TrainingSpec, parse_steps
from hookcli.training import watch as watching
from hookcli.training.journal import training_journal

PRESETS = {name: preset_hooks(name) for name in ("grads", "trace", "inspect")}
HEADER = {"hookcli": "0.1", "at": 1.0, "pid": 1, "host": "here", "output": "run.json"}


def batch(step):
    return torch.arange(8.0).reshape(2, 4) + step % 5


def plain_losses(count):
    """The losses of the loop below, without hookcli."""
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    losses = []
    for step in range(count):
        optimizer.zero_grad()
        loss = net(batch(step)).square().mean()
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return losses


class Journaled:
    """A watched loop with a journal. `at_step` is called after each step with its number."""

    def __init__(self, tmp_path, steps="0-2", hooks=()):
        self.path = str(tmp_path / "run.json.journal")
        file = JournalFile.create(self.path)
        header = header_line(HEADER)
        file.append(header)
        self.job = RunJob(
            ScriptSpec("train.py"),
            TrainingSpec(parse_steps(steps, "")),
            Spec("grads", ModelSpec("train.py"), hooks=hooks),
            journal=JournalPlace(self.path, file.handle, header, presets=PRESETS),
        )

    def train(self, count, at_step=lambda step: None):
        watch = watching.start(self.job)
        torch.manual_seed(0)
        self.net = net = nn.Linear(4, 1)
        self.optimizer = optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
        try:
            for step in range(count):
                optimizer.zero_grad()
                net(batch(step)).square().mean().backward()
                optimizer.step()
                at_step(step)
        finally:
            report = watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
        assert report.tracking.detached is None
        return report

    def read(self):
        reader = JournalReader(self.path)
        reader.update()
        return reader


@pytest.fixture
def journaled(tmp_path, monkeypatch):
    monkeypatch.setattr(training_journal, "_EVERY", 0.0)
    return Journaled(tmp_path)


def test_each_step_is_in_the_journal_with_its_loss_when_it_has_ended(journaled):
    losses, seen = plain_losses(8), []

    def at_step(step):
        (record,) = journaled.read().report("running").records
        seen.append([row.loss for row in record.training.steps])
        assert record.training.total == step + 1

    journaled.train(8, at_step)
    assert seen == [pytest.approx(losses[: step + 1]) for step in range(8)]


def test_a_truncation_at_any_byte_loses_at_most_the_last_entry(journaled, tmp_path):
    losses, sizes = plain_losses(6), []
    journaled.train(6, lambda _: sizes.append(Path(journaled.path).stat().st_size))
    whole = Path(journaled.path).read_bytes()
    cut = tmp_path / "cut.journal"
    begin = whole.index(b'"records": []')  # in the first report
    begin = whole.index(b"\n", begin) + 1
    for size in [*range(begin, sizes[-1], 211), *sizes, sizes[-1] - 1]:
        cut.write_bytes(whole[:size])
        reader = JournalReader(str(cut))
        reader.update()
        records = reader.report().records
        known = [row.loss for row in records[0].training.steps] if records else []
        assert known == pytest.approx(losses[: len(known)])
        # The entry of step 0 comes in two lines, of which the second names the record.
        assert len(known) >= sum(size >= end for end in sizes)


def test_a_script_that_trains_many_models_writes_each_report_once(journaled, monkeypatch):
    """A search of hyper-parameters: with whole reports, the cost would grow as their square."""
    monkeypatch.setattr(training_journal, "_FREE", 0.0)
    monkeypatch.setattr(training_journal, "_SHARE", 0.0)
    watch = watching.start(journaled.job)
    known = []
    for i in range(5):
        net = nn.Linear(4, 1 + i)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
        for step in range(3):
            optimizer.zero_grad()
            net(batch(step)).square().mean().backward()
            optimizer.step()
        records = journaled.read().report("running").records
        known.append([(r.training.record, r.training.total, len(r.layers)) for r in records])
    lines = [json.loads(line) for line in Path(journaled.path).read_text().splitlines()]
    watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
    assert [len(records) for records in known] == [1, 2, 3, 4, 5]
    assert {(total, layers) for records in known for _, total, layers in records} == {(3, 1)}
    assert len({name for name, _, _ in known[-1]}) == 5
    added = [line["numbers"] for line in lines if line.get("adds")]
    assert added == [[0], [1], [2], [3], [4]]
    # The steps of a model that has ended are not written again.
    numbers = [line["record"] for line in lines if "steps" in line]
    assert numbers == sorted(numbers)


def test_the_last_entry_is_the_report_itself(journaled):
    report = journaled.train(5)
    reader = journaled.read()
    assert reader.is_final
    assert training_to_json(reader.report()) == training_to_json(report)


def test_without_the_end_the_report_says_so_and_has_no_status(journaled):
    reports = []
    journaled.train(3, lambda _: reports.append(journaled.read().report()))
    last = reports[-1]
    assert (last.status, last.script.ended, last.script.status) == ("partial", "unknown", None)
    assert last.warnings[0].startswith("no end was recorded: last entry ")
    assert last.warnings[0].endswith(" UTC, step 2")


def test_a_journal_that_grows_is_written_again_and_stays_small(journaled, monkeypatch):
    monkeypatch.setattr(training_journal, "_SPARE", 20_000)
    sizes = []
    journaled.train(300, lambda _: sizes.append(Path(journaled.path).stat().st_size))
    assert any(after < before for before, after in pairwise(sizes))
    (record,) = journaled.read().report().records
    assert [row.loss for row in record.training.steps] == pytest.approx(plain_losses(300))
    assert max(sizes) < 20_000 + 5 * sizes[0] + 3 * 300 * 160  # the rows of 300 steps, thrice


def test_a_full_disk_leaves_the_journal_whole_and_the_training_goes_on(
    journaled, monkeypatch, capfd
):
    real, is_full = os.write, []

    def write(handle, data):
        if is_full and handle != 2:
            if len(data) > 10:
                return real(handle, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr(journal_file.os, "write", write)
    monkeypatch.setattr(training_journal, "_AFTER_FAILURE", 0.0)
    known = []

    def at_step(step):
        known.append(len(journaled.read().report().records[0].training.steps))
        if step == 3:
            is_full.append(True)
        if step == 6:
            is_full.clear()

    journaled.train(9, at_step)
    assert known == [1, 2, 3, 4, 4, 4, 4, 8, 9]
    assert capfd.readouterr().err == (
        "hookcli: the journal cannot be written, training goes on: No space left on device\n"
    )


def test_a_script_that_closes_all_descriptors_keeps_its_journal(journaled):
    def at_step(step):
        if step == 1:
            os.close(journaled.job.journal.handle)
            other = os.open(os.devnull, os.O_WRONLY)
            os.dup2(other, journaled.job.journal.handle)  # a file of the script
            os.close(other)

    journaled.train(4, at_step)
    os.close(journaled.job.journal.handle)
    assert journaled.read().is_final


def test_an_exception_of_a_handler_during_an_entry_leaves_no_part_of_it(tmp_path, monkeypatch):
    file = JournalFile.create(str(tmp_path / "j"))
    file.append(b"first\n")
    real = os.write

    def write(handle, data):
        real(handle, data[:3])
        raise TimeoutError

    with monkeypatch.context() as patch, pytest.raises(TimeoutError):
        patch.setattr(journal_file.os, "write", write)
        file.append(b"second\n")
    file.append(b"third\n")
    assert (tmp_path / "j").read_bytes() == b"first\nthird\n"


def test_the_journal_of_a_run_that_was_killed_is_kept_under_another_name(tmp_path):
    path = tmp_path / "run.json.journal"
    path.write_bytes(b"old")
    JournalFile.create(str(path)).append(b"new")
    assert path.read_bytes() == b"new"
    assert (tmp_path / f"{path.name}{PREVIOUS}").read_bytes() == b"old"


def test_a_journal_that_a_living_process_writes_is_not_taken(tmp_path):
    path = str(tmp_path / "run.json.journal")
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        JournalFile.create(path)
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    with pytest.raises(journal_file.JournalInUseError):
        JournalFile.create(path)
    assert JournalReader(path).is_running()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert not JournalReader(path).is_running()
    JournalFile.create(path)


def test_a_journal_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "j"
    line = json.loads(header_line({**HEADER, "hookcli": "9.0"}))
    path.write_text(json.dumps({**line, "schema": "hookcli.journal/2"}) + "\n")
    with pytest.raises(RequestError, match="is the journal of a newer version") as caught:
        JournalReader(str(path)).update()
    assert caught.value.hint == "read it with hookcli 9.0 or newer"


@pytest.mark.parametrize("text", [b"{}\n", b"[1]\n", b"no\n", b'{"schema": 3}\n', b"\xff\xfe\n"])
def test_what_is_no_journal_is_refused(text, tmp_path):
    path = tmp_path / "j"
    path.write_bytes(text)
    with pytest.raises(RequestError, match="is not a hookcli journal"):
        JournalReader(str(path)).update()


@pytest.mark.parametrize(
    "entry",
    [b"null", b"3", b"{}", b'{"at": 1, "up": 1, "steps": 3}', b'{"at": 1, "up": 1, "report": 3}'],
)
def test_a_damaged_entry_is_passed_over(entry, journaled):
    seen = []

    def at_step(step):
        if step == 1:
            with Path(journaled.path).open("ab") as file:
                file.write(entry + b"\n")
        seen.append(len(journaled.read().report().records[0].training.steps))

    journaled.train(4, at_step)
    assert seen == [1, 2, 3, 4]


# Questions.


def sampled_steps(report):
    return [row.step for row in report.records[0].training.steps if row.sampled]


@pytest.mark.parametrize(
    ("steps", "observed", "state"),
    [
        ("2", [6, 7], "answered"),
        ("9-10", [9, 10], "answered"),
        ("4-6", [6], "answered"),
        ("1-5", [], "refused"),
        ("11-40", [11], "accepted"),  # the training ends before
    ],
)
def test_the_steps_that_somebody_asks_for_are_observed(steps, observed, state, journaled):
    def at_step(step):
        if step == 4:
            assert leave_ask(journaled.path, "0123456789ab", steps)

    report = journaled.train(12, at_step)
    assert sampled_steps(report) == [0, 1, 2, *observed]
    notes = journaled.read().asked
    assert [note["state"] for note in notes][-1] == state
    assert not Path(ask_file(journaled.path)).exists()
    gradients = {s["step"] for row in report.records[0].parameters for s in row.steps}
    assert gradients == {0, 1, 2, *observed}


def test_asking_changes_no_loss(journaled):
    report = journaled.train(12, lambda step: step == 4 and leave_ask(journaled.path, "0" * 8, "3"))
    assert [row.loss for row in report.records[0].training.steps] == plain_losses(12)


def events(report):
    """The events of the only record, without their numbers."""
    (record,) = report.records
    return [(row.step, row.phase, row.kind, row.target) for row in record.events]


def answer(journaled):
    """The report in the last entry about a question."""
    return training_from_json(json.dumps(journaled.read().asked[-1]["answer"]))


@pytest.mark.parametrize("at", [0, 4])  # in a step that is observed anyway, and in another one
def test_steps_are_observed_by_the_hooks_of_another_preset(at, journaled, tmp_path):
    def at_step(step):
        if step == at:
            leave_ask(journaled.path, "0" * 8, "2", preset="trace")

    report = journaled.train(9, at_step)
    (tmp_path / "traced").mkdir()
    traced = Journaled(tmp_path / "traced", f"{at + 2}-{at + 3}", PRESETS["trace"]).train(9)
    asked = answer(journaled)
    assert events(asked) == events(traced)
    assert len(events(asked)) == 2 * 5  # forward_pre, forward, tensor and both parameters
    assert asked.tracking.preset == asked.records[0].command == "trace"
    assert events(report) == []
    assert [row.loss for row in report.records[0].training.steps] == plain_losses(9)
    assert not journaled.net._forward_hooks
    assert not journaled.net._forward_pre_hooks


def test_kinds_that_are_asked_for_are_attached_in_these_steps_only(journaled):
    def at_step(step):
        if step == 4:
            leave_ask(journaled.path, "0" * 8, "6-7", kinds="optimizer_step_post, forward")

    journaled.train(9, at_step)
    assert [row[:3] for row in events(answer(journaled))] == [
        (step, *row)
        for step in (6, 7)
        for row in (("forward", "forward"), ("optimizer", "optimizer_step_post"))
    ]
    assert not journaled.optimizer._optimizer_step_post_hooks


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"preset": "fast"}, "unknown preset 'fast'"),
        ({"kinds": "forwrd"}, "unknown kind 'forwrd'"),
        ({"kinds": " "}, "--kinds must not be empty"),
    ],
)
def test_hooks_that_do_not_exist_are_refused_by_the_training(asked, why, journaled):
    report = journaled.train(
        8, lambda step: step == 4 and leave_ask(journaled.path, "0" * 8, "2", **asked)
    )
    (note,) = journaled.read().asked
    assert (note["state"], note["why"]) == ("refused", why)
    assert sampled_steps(report) == [0, 1, 2]


def test_an_answer_survives_a_journal_that_is_written_again(journaled, monkeypatch):
    monkeypatch.setattr(training_journal, "_SPARE", 1)
    monkeypatch.setattr(training_journal, "_GROWTH", 0)  # after each entry
    seen = []

    def at_step(step):
        if step == 4:
            leave_ask(journaled.path, "0" * 8, "1", preset="trace")
        seen.append([note["state"] for note in journaled.read().asked])

    journaled.train(9, at_step)
    assert seen[-1] == ["accepted", "answered"]
    assert len(events(answer(journaled))) == 5


def test_more_questions_than_can_wait_are_refused(journaled):
    def at_step(step):
        leave_ask(journaled.path, f"{step:08x}", "900-901")

    journaled.train(24, at_step)
    states = [note["state"] for note in journaled.read().asked]
    assert states.count("accepted") == 16
    assert states[-1] == "refused"


@pytest.mark.parametrize("text", ["0", "x", "5-3", "1-1001", "1001", "-1", "1-", "3 ", "1" * 13])
def test_steps_that_cannot_be_asked_for(text):
    assert parse_range("0" * 8, text) is None


def asked(path, content="", mode=0o600):
    """A file of a question that hookcli has not written."""
    Path(asks_of(path)).mkdir(0o700)
    Path(ask_file(path)).write_text(content or json.dumps({"id": "0" * 8, "steps": "3"}))
    Path(ask_file(path)).chmod(mode)


def test_a_private_question_is_taken(tmp_path):
    asked(str(tmp_path / "j"))
    assert take_ask(str(tmp_path / "j")).next == 3


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o602])
def test_a_question_that_others_can_open_is_dropped(mode, tmp_path):
    asked(str(tmp_path / "j"), mode=mode)
    assert take_ask(str(tmp_path / "j")) is None
    assert not Path(ask_file(str(tmp_path / "j"))).exists()


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        "[]",
        '{"id": 3, "steps": "3"}',
        "{" * 9000,
        '{"id": "00000000", "steps": "3", "preset": 3}',
        '{"id": "00000000", "steps": "3", "preset": "../x"}',
        '{"id": "00000000", "steps": "3", "kinds": ["forward"]}',
    ],
)
def test_a_question_that_hookcli_has_not_written_is_dropped(content, tmp_path):
    asked(str(tmp_path / "j"), content)
    assert take_ask(str(tmp_path / "j")) is None


def test_a_link_in_place_of_a_question_is_not_followed(tmp_path):
    asked(str(tmp_path / "j"))
    file = Path(ask_file(str(tmp_path / "j")))
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert take_ask(str(tmp_path / "j")) is None
    assert (tmp_path / "elsewhere").exists()


def test_a_folder_that_others_can_open_is_not_used(tmp_path):
    asked(str(tmp_path / "j"))
    Path(asks_of(str(tmp_path / "j"))).chmod(0o755)
    assert take_ask(str(tmp_path / "j")) is None
    with pytest.raises(PermissionError):
        leave_ask(str(tmp_path / "j"), "0" * 8, "3")
