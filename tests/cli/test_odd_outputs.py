"""Every flag that names a file to write, with each kind of path that is no regular file."""

from __future__ import annotations

import os
import socket
import sys
import threading

import pytest

from hookcli.outputs import special_files
from tests.cli.test_requests import NET
from tests.conftest import run_cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
REPORT = {}
WRITING = {
    "render -o": ("render", "r.json", "-o", "{}"),
    "render -f": ("render", "r.json", "-f", "json={}"),
    "diff -o": ("diff", "r.json", "r.json", "-o", "{}"),
    "check --baseline": (
        "check", "--against", "r.json", "--baseline", "{}", "--update-baseline",
    ),
    "check -o": ("check", "--against", "r.json", "-o", "{}"),
    "inspect -o": ("inspect", "net.py", "-o", "{}"),
    "trace --stream": ("trace", "net.py", "--stream", "{}"),
    "snapshot -o": ("snapshot", "net.py", "-o", "{}", "--force"),
    "init -o": ("init", "net.py", "-o", "{}"),
    "render tensorboard": ("render", "r.json", "-f", "tensorboard={}"),
}  # fmt: skip
REFUSED = {
    "pipe": "it is a named pipe that nobody reads",
    "link to pipe": "it is a named pipe that nobody reads",
    "socket": "it is a socket",
    "folder": "is a directory",
    "file/x": "file is not a folder",
    "no/x": "folder not found: no",
    "link to nowhere": "folder not found",
    "/dev/fd/987": "descriptor 987 is not open",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "net.py").write_text(NET)
    return run_cli("inspect", "net.py", "-f", "json", cwd=folder).out


@pytest.fixture(autouse=True)
def places(report, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(special_files, "PATIENCE", 0.02)
    monkeypatch.setattr(special_files, "_held", {})
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "r.json").write_text(report)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    os.mkfifo("pipe")
    (tmp_path / "link to pipe").symlink_to("pipe")
    (tmp_path / "link to nowhere").symlink_to("no/where")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("flag", WRITING)
def test_a_path_that_cannot_be_written_is_three_lines_that_say_what_it_is(flag, name, line):
    if flag == "render tensorboard" and name in {"folder", "no/x"}:
        return  # which it may write
    status, out, err = line(*(word.format(name) for word in WRITING[flag]))
    message, place, hint = err.splitlines()[-3:]
    assert status == 2
    assert not out
    assert message.startswith(f"error: cannot write {name}: ")
    if flag != "render tensorboard":
        assert REFUSED[name] in message
    assert place.startswith("  --> ")
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("flag", [flag for flag in WRITING if flag.startswith(("render -", "ch"))])
def test_a_full_device_is_three_lines(flag, line):
    status, _, err = line(*(word.format("/dev/full") for word in WRITING[flag]))
    assert status == 2
    assert "cannot write /dev/full: No space left on device" in err.splitlines()[-3]


@pytest.mark.parametrize(
    "flag", ["render -o", "render -f", "diff -o", "check --baseline", "init -o"]
)
def test_a_pipe_with_a_reader_gets_what_a_file_gets(flag, line, monkeypatch, tmp_path):
    monkeypatch.setattr(special_files, "PATIENCE", 10)
    got = []
    thread = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    thread.start()
    assert line(*(word.format("pipe") for word in WRITING[flag]))[0] == 0
    thread.join()
    assert line(*(word.format("new") for word in WRITING[flag]))[0] == 0
    assert got == [(tmp_path / "new").read_text()]


def test_what_stands_before_stdout_s_position_stays(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        saved = os.dup(1)
        os.dup2(log.fileno(), 1)
        try:
            from hookcli.whole_files import write_whole

            write_whole(tmp_path / "/dev/stdout", b"report\n")
        finally:
            os.dup2(saved, 1)
            os.close(saved)
    assert (tmp_path / "log").read_bytes() == b"before\nreport\n"
