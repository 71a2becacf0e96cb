"""A place for a command: its working folder, TMPDIR and HOME."""

from __future__ import annotations

import sys

import pytest

from tests.faults.commands import laid_out

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def place(tmp_path):
    return laid_out(tmp_path)
