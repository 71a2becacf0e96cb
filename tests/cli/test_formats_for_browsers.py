"""A format that a terminal cannot show is refused there, before the model runs."""

from __future__ import annotations

import pytest

from hookcli.cli.flags.options import OutputFlags
from hookcli.cli.output import parse_targets
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.registry import FORMATS

OPENED = [row.name for row in FORMATS.values() if row.opened_by]


@pytest.mark.parametrize("name", OPENED)
def test_a_terminal_gets_a_hint_instead_of_markup(name, monkeypatch):
    monkeypatch.setattr("hookcli.cli.output.stdout_is_terminal", lambda: True)
    with pytest.raises(RequestError) as caught:
        parse_targets(OutputFlags(formats=[name], output=None), read=[], console=Console())
    assert "stdout is a terminal" in str(caught.value)
    assert caught.value.hint == f"write it to a file: `-f {name}=report.{name}`"


@pytest.mark.parametrize("name", OPENED)
def test_a_file_and_a_pipe_get_the_markup(name, monkeypatch, tmp_path):
    flags = OutputFlags(formats=[f"{name}={tmp_path / 'x'}"], output=None)
    monkeypatch.setattr("hookcli.cli.output.stdout_is_terminal", lambda: True)
    assert parse_targets(flags, read=[], console=Console())[0].file == tmp_path / "x"
    monkeypatch.setattr("hookcli.cli.output.stdout_is_terminal", lambda: False)
    assert (
        parse_targets(OutputFlags(formats=[name], output=None), read=[], console=Console())[0].file
        is None
    )
