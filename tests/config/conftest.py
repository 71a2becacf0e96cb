"""A folder with a model and its files, in which configurations are read."""

from __future__ import annotations

import pytest

from hookcli.config.load import read_config
from hookcli.errors import ProblemsError, RequestError

FILES = (
    "model.py", "net.safetensors", "libmine.so", "my_hooks.py", "mask.safetensors", "batch.pt",
    "make.py", "my_loss.py", "f.py",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in FILES:
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def read(folder):
    """Read a configuration's text."""

    def reads(text):
        data = text if isinstance(text, bytes) else text.encode()
        (folder / "hooks.yaml").write_bytes(data)
        return read_config("hooks.yaml")

    return reads


@pytest.fixture
def problems(read):
    """What is wrong with a configuration's text: (message, place, shown line, hint) of each."""

    def found(text):
        with pytest.raises(RequestError) as caught:
            read(text)
        error = caught.value
        several = error.problems if isinstance(error, ProblemsError) else (error,)
        rows = []
        for one in several:
            place, _, line = one.place.partition("  |  ")
            rows.append((one.message, place, line, one.hint))
            assert "\n" not in one.message + one.place + one.hint
            assert one.hint
            assert not one.message.endswith(".")
        return rows

    return found


@pytest.fixture
def problem(problems):
    """The only thing that is wrong."""

    def found(text):
        rows = problems(text)
        assert len(rows) == 1, rows
        return rows[0]

    return found


@pytest.fixture
def hook(read):
    """The only hook of a configuration."""

    def found(text):
        (one,) = read(f"hooks:\n  - {text}\n").hooks
        return one

    return found


@pytest.fixture
def refused(problem):
    """Why a hook is refused: the message, the key path below the hook, the hint."""

    def found(text):
        message, place, _, hint = problem(f"hooks:\n  - {text}\n")
        assert place.startswith("hooks.yaml:2: hooks[0]")
        return message, place.removeprefix("hooks.yaml:2: hooks[0]").lstrip("."), hint

    return found


@pytest.fixture
def argument(hook, folder):
    """What an action's argument becomes."""

    def found(action, kind="forward, at: fc"):
        (one,) = hook(f"{{kind: {kind}, do: {action}}}").actions
        return one.argument

    return found
