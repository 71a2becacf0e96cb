"""The command line in process, up to the worker: what it would have run."""

from __future__ import annotations

import io
import sys

import pytest

from hookcli.cli.app import run
from hookcli.worker import attempts


class _Asked(BaseException):
    def __init__(self, spec):
        self.spec = spec


class _Stream(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8")

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode()


@pytest.fixture
def line(monkeypatch):
    """Run a command line in process: (status, stdout, stderr)."""

    def go(*args):
        out, err = _Stream(), _Stream()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
        status = run([str(arg) for arg in args])
        return status, out.text(), err.text()

    return go


@pytest.fixture
def asked(line, monkeypatch):
    """The Spec that a command line comes to; an error fails the test."""

    def stop(spec, *_):
        raise _Asked(spec)

    def spec(*args):
        monkeypatch.setattr(attempts, "run", stop)
        try:
            status, _, err = line(*args)
        except _Asked as found:
            return found.spec
        raise AssertionError(f"status {status}: {err}")

    return spec


@pytest.fixture
def refused(line, monkeypatch):
    """The three lines of a command line that comes to nothing: (message, place, hint)."""

    def never(*_):
        raise AssertionError("it was run")

    def error(*args):
        monkeypatch.setattr(attempts, "run", never)
        status, out, err = line(*args)
        assert (status, out) == (2, "")
        lines = err.splitlines()
        assert len(lines) == 3, err
        return lines[0].removeprefix("error: "), lines[1].removeprefix("  --> "), lines[2][6:]

    return error
