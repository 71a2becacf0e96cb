"""Fails a session whose tests leave a file in the repository, outside the folders of caches.

tests/conftest.py has the two hooks. Only the process that starts the workers of pytest-xdist looks,
after all tests: which test left the file, its name and content tell.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# What tools write as they work. Files below build/ and the environment are nobody's tests'.
CACHES = {
    ".coverage", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv",
    "__pycache__", "build", "dist",
}  # fmt: skip
_BEFORE = pytest.StashKey[frozenset[str]]()
_LEFT = pytest.StashKey[list[str]]()


def untracked(folder: Path) -> frozenset[str]:
    """The files and folders that git does not track, without caches; empty outside of git."""
    command = ["git", "ls-files", "--others", "--directory", "-z"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return frozenset()
    paths = done.stdout.split("\0") if done.returncode == 0 else ()
    return frozenset(path for path in paths if path and not CACHES & {*Path(path).parts})


def pytest_sessionstart(session: pytest.Session) -> None:
    """Note what is there before the first test."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[_BEFORE] = untracked(ROOT)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session if there is more."""
    before = session.config.stash.get(_BEFORE, None)
    if before is None:
        return
    left = session.config.stash[_LEFT] = sorted(untracked(ROOT) - before)
    if left and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter) -> None:
    """Name what was left."""
    left = terminalreporter.config.stash.get(_LEFT, [])
    if left:
        terminalreporter.section("files left in the repository")
    for path in left:
        terminalreporter.line(f"a test left {path!r}: tests write below tmp_path")
