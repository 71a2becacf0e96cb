"""Standard streams that are closed, full, slow or not read."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

import pytest

from .commands import COMMANDS, Command, checked, problems, run
from .signals import listing

LONG = Command(("schema", "report"))  # more than a pipe holds


@pytest.fixture
def unread():
    """A pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize(
    ("name", "closed", "status"),
    [("run", (0, 1, 2), 0), ("ranks", (0, 1, 2), 0), ("diff", (1, 2), 1), ("check", (1,), 141)],
)
def test_closed_streams_do_not_stop_what_is_written_to_files(name, closed, status, place):
    outcome = checked(COMMANDS[name], replace(place, faults={"closed": closed}))
    assert outcome.status == status
    assert outcome.out == ""


def test_a_stderr_that_nobody_reads_changes_nothing(unread, place):
    assert checked(COMMANDS["run"], replace(place, streams={2: unread})).status == 0


@pytest.mark.parametrize("command", [LONG, COMMANDS["grads"]], ids=["schema", "grads"])
def test_a_stdout_that_nobody_reads_ends_the_command_silently(command, unread, place):
    outcome = checked(command, replace(place, streams={1: unread}))
    assert (outcome.status, outcome.err) == (141, "")


def test_a_reader_that_ends_after_a_line_ends_the_command_silently(place):
    reader, writer = os.pipe()
    before = listing(place.folder)
    lines = []

    def head() -> None:
        with os.fdopen(reader) as stream:
            lines.append(stream.readline())

    thread = threading.Thread(target=head)
    thread.start()
    outcome = run(LONG, replace(place, streams={1: writer}))
    os.close(writer)
    thread.join()
    assert (outcome.status, outcome.err, lines) == (141, "", ["{\n"])
    assert not [*problems(LONG, place, before, outcome)]


@pytest.mark.parametrize("blocking", [True, False])
def test_a_slow_reader_gets_everything(blocking, place):
    whole = checked(LONG, place).out
    reader, writer = os.pipe()
    os.set_blocking(writer, blocking)
    received = []

    def read_slowly() -> None:
        while data := os.read(reader, 4096):
            received.append(data)
            threading.Event().wait(0.002)

    thread = threading.Thread(target=read_slowly)
    thread.start()
    outcome = checked(LONG, replace(place, streams={1: writer}))
    os.close(writer)
    thread.join()
    os.close(reader)
    assert outcome.status == 0
    assert b"".join(received).decode() == whole
