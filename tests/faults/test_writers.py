"""What writes outputs: whole files, streams of events, tensors, the standard streams."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pytest
import torch

from hookcli import console as console_module
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.models.files.tensor_writer import save_tensors, save_whole
from hookcli.refusals import is_short_of, refusal
from hookcli.report.recording import EventNote, Recording
from hookcli.report.sinks import StreamedSink
from hookcli.whole_files import private_folder, replacing, write_whole

from .mounts import fill, needs_mount, small_disk


@pytest.fixture
def disk(tmp_path):
    """A full disk, except for one page."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, kibibytes=64):
        fill(folder, pages=1)
        yield folder


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name != "filler")


def test_a_file_is_replaced_at_the_end_and_keeps_its_permissions(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text("old")
    file.chmod(0o640)
    with replacing(file) as temporary:
        temporary.write_text("new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["out.txt"]


def test_an_error_leaves_the_old_file_alone(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(file) as temporary:
        temporary.write_text("new")
        raise ZeroDivisionError
    assert file.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path):
    file = tmp_path / ("🔥" * 63)  # 252 of 255 bytes
    write_whole(file, b"new")
    assert names(tmp_path) == [file.name]


@needs_mount
def test_what_does_not_fit_on_the_disk_leaves_the_old_file(disk):
    file = disk / "out"
    file.write_bytes(b"old")
    big = torch.zeros(4096)
    for write in (
        lambda: write_whole(file, bytes(1 << 14)),
        lambda: save_whole({"big": big}, file),
        lambda: save_tensors({"big": big}, file),
    ):
        with pytest.raises(OSError, match="No space left") as caught:
            write()
        assert caught.value.errno == errno.ENOSPC
        assert file.read_bytes() == b"old"
        assert names(disk) == ["out"]


def test_a_value_that_cannot_be_pickled_is_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises((AttributeError, TypeError, Exception), match="pickle") as caught:
        save_whole(lambda: 0, tmp_path / "out.pt")
    assert not isinstance(caught.value, OSError)
    assert names(tmp_path) == []


def event(number: int) -> EventNote:
    return EventNote(number, 0, "forward", "forward", "layer", 0, 0, None, 0, ())


@needs_mount
def test_a_stream_on_a_full_disk_keeps_whole_lines_and_counts_the_others(disk):
    sink = StreamedSink(str(disk / "events.jsonl"))
    for number in range(100):
        sink.add(event(number))
    recording = Recording()
    sink.close(recording)
    lines = [json.loads(line) for line in (disk / "events.jsonl").read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert 0 < len(lines) < 100
    assert recording.streamed == (str(disk / "events.jsonl"), len(lines), 100 - len(lines))
    assert recording.warnings == [
        f"{disk}/events.jsonl has only the first {len(lines)} events: No space left on device"
    ]
    assert sink.refusal() is not None


def test_a_stream_that_is_rewound_has_only_later_events(tmp_path):
    sink = StreamedSink(str(tmp_path / "events.jsonl"))
    for number in range(4):
        sink.add(event(number))
        if number == 0:
            sink.mark()
        if number == 2:
            sink.rewind()
    sink.close(recording := Recording())
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [0, 3]
    assert recording.streamed is not None
    assert recording.streamed[1:] == (2, 0)


def test_a_pipe_and_a_device_can_be_streamed_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    sink = StreamedSink(str(tmp_path / "pipe"))
    sink.add(event(0))
    sink.rewind()  # a pipe keeps what it got
    sink.add(event(1))
    sink.close(Recording())
    assert [json.loads(line)["seq"] for line in os.read(reader, 1 << 16).splitlines()] == [0, 1]
    os.close(reader)
    full = StreamedSink("/dev/full")
    full.add(event(0))
    full.rewind()
    full.close(Recording())
    assert full.failure == "No space left on device"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_full_pipe_that_does_not_block_gets_everything(stream, monkeypatch):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    received = bytearray()

    def read_slowly() -> None:
        while data := os.read(reader, 5000):
            received.extend(data)

    text = "".join(f"line {number}\n" for number in range(40_000))
    thread = threading.Thread(target=read_slowly)
    with os.fdopen(writer, "w") as file:
        monkeypatch.setattr(console_module.sys, stream, file)
        with pytest.raises(BlockingIOError):  # so it is full
            while True:
                received_before = os.write(writer, bytes(1 << 12))
                assert received_before
        thread.start()
        getattr(Console(), "out" if stream == "stdout" else "err")(text)
        monkeypatch.undo()
    thread.join()
    os.close(reader)
    assert received.lstrip(b"\0").decode().rstrip("\n") == text.rstrip("\n")


def test_torch_can_open_files_in_the_folder_whatever_tmpdir_is_called(tmp_path, monkeypatch):
    import tempfile

    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(odd).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", odd)
    with private_folder() as folder:
        torch.save(torch.ones(2), f"{folder}/x.pt")
        assert Path(folder).stat().st_mode & 0o077 == 0
    assert not Path(folder).exists()


REFUSED = "the system refused a request: "
NO_FOLDER = "No usable temporary directory found in ['/x']"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.EMFILE, "Too many open files"), f"{REFUSED}Too many open files"),
        (BlockingIOError(errno.EAGAIN, "again"), f"{REFUSED}again"),
        (FileNotFoundError(errno.ENOENT, "No such file"), "the working folder no longer exists"),
        (
            FileNotFoundError(errno.ENOENT, NO_FOLDER),
            "no folder for temporary files can be written",
        ),
        (PermissionError(errno.EACCES, "denied", "/x"), "cannot access /x: denied"),
        (MemoryError(), "not enough memory"),
        (ImportError("x.so: failed to map segment from shared object"), "not enough memory"),
    ],
)
def test_what_the_system_refuses_is_named(error, message):
    found = refusal(error)
    assert isinstance(found, RequestError)
    assert found.message == message


def test_other_errors_are_not_the_system_s():
    assert refusal(ValueError("x")) is None
    assert refusal(ImportError("no module")) is None
    assert not is_short_of(PermissionError(errno.EACCES, "Permission denied"))
    assert not is_short_of(OSError(errno.ENOSPC, "No space left on device", "/x"))
    assert is_short_of(OSError(errno.EMFILE, "Too many open files"))


def test_a_stream_whose_descriptor_became_another_files_leaves_that_file_alone(tmp_path):
    sink = StreamedSink(str(tmp_path / "events.jsonl"))
    sink.add(event(0))
    number = sink._file.number()
    opened = os.open(tmp_path / "data", os.O_RDWR | os.O_CREAT)
    other = os.dup2(opened, number)
    os.close(opened)
    os.write(other, b"the user's")
    recording = Recording()
    sink.add(event(1))
    sink.close(recording)
    os.write(other, b" data")
    os.close(other)
    assert (tmp_path / "data").read_bytes() == b"the user's data"
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 1
    assert sink.failure == "its descriptor was closed"
