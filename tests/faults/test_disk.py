"""A full disk: outputs are whole or as before, and the error names the file and the reason."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from .commands import COMMANDS, Command, checked, is_whole, old_outputs
from .mounts import fill, needs_mount, read_only, small_disk
from .signals import listing

NO_SPACE = "No space left on device"
FIRST_REFUSED = {
    "grads": "out.html", "check": "known.json", "diff": "both", "snapshot": "out.yaml",
    "ranks": "out.rank1.json",
}  # fmt: skip


@needs_mount
@pytest.mark.parametrize("name", FIRST_REFUSED)
def test_on_a_full_disk_outputs_stay_as_they_were(name, place):
    command = COMMANDS[name]
    with small_disk(place.folder):
        old_outputs(command, place.folder)
        fill(place.folder)
        before = listing(place.folder)
        outcome = checked(command, place)
        assert listing(place.folder) == before
    assert outcome.status == 2
    assert outcome.error()[0] == f"cannot write {FIRST_REFUSED[name]}: {NO_SPACE}"
    assert outcome.out == ""


@needs_mount
def test_if_one_of_several_files_does_not_fit_none_is_replaced(place):
    command = Command(
        ("render", "report.json", "-f", "json=small.json", "-f", "html=out.html"),
        ("small.json", "out.html"),
    )
    with small_disk(place.folder):
        old_outputs(command, place.folder)
        fill(place.folder, pages=16)  # a page takes more
        outcome = checked(command, place)
        assert (place.folder / "small.json").read_text() == '{"old": 1}'
    assert outcome.error()[0] == f"cannot write out.html: {NO_SPACE}"


@needs_mount
def test_a_stream_without_room_is_refused(place):
    command = COMMANDS["trace"]
    with small_disk(place.folder):
        fill(place.folder)
        outcome = checked(command, place)
        assert (place.folder / "events.jsonl").read_text() == ""
        assert not (place.folder / "out.json").exists()
    assert outcome.error()[:2] == (
        f"cannot write events.jsonl: {NO_SPACE}", "--stream events.jsonl",
    )  # fmt: skip


@needs_mount
def test_tensors_that_a_hook_saves_are_whole(place):
    (place.folder / "saved").mkdir()
    with small_disk(place.folder / "saved", kibibytes=4):
        outcome = checked(COMMANDS["save"], place)
        assert len(list((place.folder / "saved").iterdir())) == 1  # the first one fits
    assert outcome.status == 2
    message, where, _ = outcome.error()
    assert message.startswith("cannot write ")
    assert message.endswith(f".safetensors: {NO_SPACE}")
    assert where.startswith("save.yaml:")


@needs_mount
def test_a_training_ends_as_without_hookcli_and_its_report_is_kept(place):
    with small_disk(place.folder):
        fill(place.folder)
        outcome = checked(
            replace(COMMANDS["run"], writes=("events.jsonl",), keeps="hookcli-run-"), place
        )
        assert (place.folder / "events.jsonl").read_text() == ""
    (kept,) = place.temporary.iterdir()
    assert is_whole(kept)
    assert outcome.status == 0
    assert f"out.json: {NO_SPACE}" in outcome.err
    assert f"note: the report is in {kept}: show it with `hookcli render`" in outcome.err


@needs_mount
def test_a_training_whose_report_fits_nowhere_says_so(place):
    with small_disk(place.folder), small_disk(place.temporary):
        fill(place.folder)
        fill(place.temporary, pages=1)
        outcome = checked(replace(COMMANDS["run"], writes=("events.jsonl",), keeps="filler"), place)
    assert outcome.status == 0
    assert outcome.error()[0].startswith("the report is lost: cannot write ")


@needs_mount
def test_a_diff_without_room_for_the_weights_says_where(place):
    with small_disk(place.temporary):
        fill(place.temporary, pages=1)
        outcome = checked(replace(COMMANDS["diff"], keeps="filler"), place)
    assert outcome.status == 2
    assert outcome.error()[0] == f"A: cannot write weights.pt: {NO_SPACE}"
    assert outcome.error()[2] == "free disk space, or set TMPDIR to another folder"


def test_stdout_on_a_full_disk_is_an_error(place):
    with Path("/dev/full").open("w") as full:
        outcome = checked(COMMANDS["check"], replace(place, streams={1: full.fileno()}))
    assert outcome.status == 2
    assert outcome.error()[:2] == (f"cannot write stdout: {NO_SPACE}", "stdout")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["list", "rules"]])
def test_so_is_what_is_printed_without_a_model(arguments, place):
    with Path("/dev/full").open("w") as full:
        outcome = checked(Command(tuple(arguments)), replace(place, streams={1: full.fileno()}))
    assert outcome.status == 2
    assert outcome.error()[0] == f"cannot write stdout: {NO_SPACE}"


def test_stderr_on_a_full_disk_changes_nothing(place):
    with Path("/dev/full").open("w") as full:
        outcome = checked(COMMANDS["run"], replace(place, streams={2: full.fileno()}))
    assert outcome.status == 0


@pytest.mark.parametrize(
    ("name", "most", "message"),
    [
        ("inspect", 0, "the system refused a request: File too large"),
        ("render", 1 << 13, "cannot write out.html: File too large"),
        ("diff", 0, "no folder for temporary files can be written"),
    ],
)
def test_a_limit_on_the_size_of_files_is_named(name, most, message, place):
    old_outputs(COMMANDS[name], place.folder)
    reader, writer = os.pipe()  # a file of its own would be limited too
    limited = replace(
        place, streams={1: writer, 2: writer}, faults={"limits": {"RLIMIT_FSIZE": most}}
    )
    outcome = checked(COMMANDS[name], limited)
    os.close(writer)
    with os.fdopen(reader) as stream:
        lines = stream.read().splitlines()
    assert outcome.status == 2
    assert lines[0] == f"error: {message}"
    assert len(lines) == 3
    for file in COMMANDS[name].writes:
        assert "old" in (place.folder / file).read_text()


@needs_mount
def test_a_file_system_that_is_read_only_is_refused(place):
    with read_only(place.folder):
        outcome = checked(COMMANDS["check"], place)
    assert outcome.status == 2
    assert outcome.error()[0].split(": ")[-1].lower() in {
        "permission denied",
        "read-only file system",
    }
