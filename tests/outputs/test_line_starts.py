"""A line of hookcli's begins on a new line where the last byte is known: in a regular file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookcli.outputs.line_starts import is_within_line


@pytest.fixture(params=["w", "a", "w+"])
def file(request, tmp_path):
    (tmp_path / "log").write_text("older\n")
    with (tmp_path / "log").open(request.param) as file:
        yield file


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs Linux's /proc")
def test_an_unfinished_line_in_a_file_is_noticed(file):
    fd = file.fileno()
    assert not is_within_line(fd)
    os.write(fd, b"done")
    position = os.lseek(fd, 0, os.SEEK_CUR)
    assert is_within_line(fd)
    assert os.lseek(fd, 0, os.SEEK_CUR) == position
    os.write(fd, b"\n")
    assert not is_within_line(fd)


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs Linux's /proc")
def test_two_descriptors_that_append_see_what_the_other_wrote(tmp_path):
    log = tmp_path / "log"
    with log.open("ab", 0) as out, log.open("ab", 0) as err:
        err.write(b"one\n")
        out.write(b"two")
        assert is_within_line(err.fileno())


def test_of_a_pipe_and_of_a_closed_descriptor_nothing_is_known():
    reader, writer = os.pipe()
    os.write(writer, b"done")
    assert not is_within_line(writer)
    os.close(writer)
    assert not is_within_line(writer)
    os.close(reader)


def test_it_imports_only_what_python_has_loaded():
    code = (
        "import sys; known = set(sys.modules); import hookcli.outputs.line_starts;"
        "print({m for m in sys.modules if not m.startswith('hookcli')} - known - {'__future__'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_file_that_has_shrunk_is_not_read_beyond_its_end(tmp_path):
    with (tmp_path / "log").open("wb", 0) as file:
        file.write(b"done")
        os.truncate(tmp_path / "log", 0)
        assert not is_within_line(file.fileno())
