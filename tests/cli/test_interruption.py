"""A signal that arrives in C or Rust code comes out as an error of that code: it is undone."""

from __future__ import annotations

import pytest

from hookcli.cli.errors import reporting
from hookcli.console import Console
from hookcli.errors import InterruptedRun, RequestError, Status, interruption_behind, note_signal


@pytest.fixture
def signalled():
    interruption = InterruptedRun(Status.TERMINATED)
    note_signal(interruption)
    yield interruption
    note_signal(None)


@pytest.mark.parametrize(
    "error", [ValueError("SchemaError"), RequestError("x", place="y", hint="z"), OSError(4, "no")]
)
def test_an_error_made_of_a_signal_is_the_interruption(signalled, error, capsys):
    def command():
        raise error

    with pytest.raises(InterruptedRun) as caught:
        reporting(Console(), command)
    assert caught.value is signalled
    assert capsys.readouterr() == ("", "")


def test_without_a_signal_an_error_is_what_it_is(capsys):
    def command():
        raise ValueError("oh")

    assert reporting(Console(), command) == Status.BUG
    assert "hookcli failed: ValueError: oh" in capsys.readouterr().err


def test_an_interruption_is_behind_itself():
    note_signal(None)
    closed = InterruptedRun(Status.CLOSED_STDOUT)
    assert interruption_behind(closed) is closed
    assert interruption_behind(ValueError()) is None
