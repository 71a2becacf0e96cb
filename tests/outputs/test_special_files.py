"""Paths that name no regular file are written in place, and no pipe is waited for without end."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from hookcli.outputs import special_files
from hookcli.outputs.special_files import (
    as_given,
    hold,
    is_in_place,
    kind_of,
    open_output,
    write_in_place,
)
from hookcli.report.recording import Recording
from hookcli.report.sinks import StreamedSink
from hookcli.whole_files import replacing, write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
LARGE = os.urandom(1 << 20)  # more than a pipe holds


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(special_files, "PATIENCE", 0.05)
    monkeypatch.setattr(special_files, "_held", {})
    os.mkfifo("pipe")
    (tmp_path / "file").write_bytes(b"old\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "dangling").symlink_to("nothing")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
    return tmp_path


def reading(results, *, before=0.0, most=None, pause=0.0):
    """A thread that opens the pipe, and reads it slowly, or only its first bytes."""

    def read():
        time.sleep(before)
        with Path("pipe").open("rb", buffering=0) as file:
            data = b""
            while (most is None or len(data) < most) and (part := file.read(1 << 16)):
                data += part
                time.sleep(pause)
            results.append(data)

    thread = threading.Thread(target=read)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("path", "kind"),
    [("file", None), ("nothing", None), ("dangling", None), ("pipe", "a named pipe"),
     ("link", "a named pipe"), ("folder", "a directory"), ("socket", "a socket"),
     ("/dev/null", "a device"), ("a\0b", None)],
)  # fmt: skip
def test_a_path_has_a_kind(path, kind):
    assert kind_of(path) == kind


def test_what_is_written_in_place():
    assert not any(map(is_in_place, ("file", "nothing", "dangling")))
    assert all(map(is_in_place, ("pipe", "link", "/dev/null", "/dev/stdout", "/dev/fd/1")))


@pytest.mark.parametrize("write", [write_whole, write_in_place])
@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_pipe_without_a_reader_is_refused_after_a_while(write, name, places):
    with pytest.raises(OSError, match="it is a named pipe that nobody reads") as caught:
        write(places / name, b"x")
    assert caught.value.errno == errno.ENXIO


@pytest.mark.parametrize(
    "reader", [{}, {"before": 0.02}, {"pause": 0.002}, {"before": 0.02, "pause": 0.002}]
)
def test_a_reader_that_is_late_or_slow_gets_everything(reader, places, monkeypatch):
    monkeypatch.setattr(special_files, "PATIENCE", 10)
    results = []
    thread = reading(results, **reader)
    write_whole(places / "pipe", LARGE)
    thread.join()
    assert results == [LARGE]


def test_a_reader_that_goes_is_an_error(places, monkeypatch):
    monkeypatch.setattr(special_files, "PATIENCE", 10)
    thread = reading([], most=1)
    with pytest.raises(OSError, match="its reader has closed the pipe"):
        write_in_place(places / "pipe", LARGE)
    thread.join()


def test_a_reader_that_reads_nothing_more_is_an_error(places, monkeypatch):
    monkeypatch.setattr(special_files, "PATIENCE", 10)
    monkeypatch.setattr(special_files, "STALLED", 0.1)
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="its reader has read nothing for 0 s") as caught:
        write_in_place(places / "pipe", LARGE)
    os.close(reader)
    assert caught.value.errno == errno.ETIMEDOUT


def test_a_pipe_that_was_checked_stays_open_until_it_is_written(places, monkeypatch):
    monkeypatch.setattr(special_files, "PATIENCE", 10)
    results = []
    thread = reading(results)
    hold(places / "pipe")
    hold("link")  # the same one
    time.sleep(0.05)
    assert thread.is_alive()  # its reader has not seen an end
    write_whole(places / "pipe", b"data")
    thread.join()
    assert results == [b"data"]


def test_a_pipe_that_another_process_writes_is_not_opened(places):
    hold(places / "pipe", by_this_process=False)
    with pytest.raises(OSError, match="nobody reads"):
        hold(places / "pipe")


@pytest.mark.parametrize("name", ["socket", "folder"])
def test_what_cannot_be_opened_says_what_it_is(name):
    with pytest.raises(OSError, match=r"it is a (socket|directory)"):
        open_output(name)


def test_a_descriptor_is_written_where_it_stands(places):
    with Path("file").open("ab") as file:
        os.set_inheritable(file.fileno(), True)
        hold(f"/dev/fd/{file.fileno()}")
        write_whole(places / f"/dev/fd/{file.fileno()}", b"new\n")
        (places / "named").symlink_to(f"/dev/fd/{file.fileno()}")
        write_whole(places / "named", b"newer\n")
    assert (places / "file").read_bytes() == b"old\nnew\nnewer\n"


def test_a_descriptor_that_is_not_the_user_s_is_refused():
    with Path("file").open("ab") as own, Path("file").open("rb") as read:
        with pytest.raises(OSError, match=f"descriptor {own.fileno()} is not open"):
            hold(f"/dev/fd/{own.fileno()}")
        with pytest.raises(OSError, match="is open for reading only"):
            open_output(f"/proc/self/fd/{read.fileno()}")
    with pytest.raises(OSError, match="descriptor 987654 is not open"):
        open_output("/dev/fd/987654")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_descriptor_has_a_name_for_other_processes(places):
    with Path("file").open("ab") as file:
        path = special_files.seen_by_children(f"/dev/fd/{file.fileno()}")
        assert path == f"/proc/{os.getpid()}/fd/{file.fileno()}"
        assert as_given(path) == f"/dev/fd/{file.fileno()}"
        sink = StreamedSink(path)
        sink.close(Recording())
        assert (places / "file").read_bytes() == b"old\n"
    assert special_files.seen_by_children("file") == as_given("file") == "file"


def test_no_file_replaces_a_pipe(places):
    with pytest.raises(OSError, match="it is a named pipe"), replacing(places / "pipe"):
        raise AssertionError
    assert kind_of("pipe") == "a named pipe"
    assert sorted(path.name for path in places.iterdir() if path.name.startswith(".")) == []
