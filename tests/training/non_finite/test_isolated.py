"""What work in a copy of the process cannot change: files, processes and connections."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hookcli.training.non_finite.isolated import obstacle, run_isolated

pytestmark = pytest.mark.skipif(obstacle() is not None, reason="no copy of the process here")

# What each does to a file "kept" with 3 bytes, or beside it.
CHANGES = {
    "append": lambda kept: kept.open("a").write("x"),
    "truncate": lambda kept: kept.open("w"),
    "by descriptor": lambda kept: os.write(os.open(kept, os.O_WRONLY), b"x"),
    "new": lambda kept: kept.with_name("new").write_text("x"),
    "remove": lambda kept: kept.unlink(),
    "rename": lambda kept: kept.rename(kept.with_name("other")),
    "folder": lambda kept: kept.with_name("folder").mkdir(),
    "mode": lambda kept: kept.chmod(0o777),
    "copy": lambda kept: shutil.copy(kept, kept.with_name("copy")),
    "process": lambda kept: subprocess.run([sys.executable, "-c", f"open({str(kept)!r}, 'w')"]),
    "shell": lambda kept: os.system(f"rm {kept}"),
    "link": lambda kept: kept.with_name("link").symlink_to(kept),
}


@pytest.mark.parametrize("name", CHANGES)
def test_files_stay_as_they_are(name, tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("abc")
    kept.chmod(0o600)
    begun = tmp_path.stat().st_mtime_ns

    def work():
        CHANGES[name](kept)
        return b"done"

    assert run_isolated(work, patience=20) is None
    assert kept.read_text() == "abc" and kept.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == [kept] and tmp_path.stat().st_mtime_ns == begun


def test_a_descriptor_that_was_open_writes_nothing(tmp_path):
    kept = tmp_path / "kept"
    with kept.open("w") as file:

        def work():
            file.write("x")
            file.flush()
            return b"done"

        assert run_isolated(work, patience=20) == b"done"
    assert kept.read_text() == ""


def test_no_connection_is_made():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def work():
            socket.create_connection(address, timeout=5)
            return b"done"

        assert run_isolated(work, patience=20) is None
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_what_changes_nothing_works(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("abc")

    def work():
        import email.mime.image  # noqa: F401  # a module that nothing has imported

        Path(os.devnull).write_text("x")
        return kept.read_bytes()

    assert run_isolated(work, patience=20) == b"abc"


def test_an_error_is_no_result():
    def work():
        raise ValueError

    assert run_isolated(work, patience=20) is None
