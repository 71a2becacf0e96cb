"""Every flag and key that names a file to read, with each kind of path that is no regular file."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from hookcli import plain_files
from hookcli.errors import HookcliError
from hookcli.models.files.tensors import read_tensors
from hookcli.models.python.libraries import load_libraries
from tests.cli.test_requests import NET
from tests.conftest import run_cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes")
LINES = {
    "MODEL": ("inspect", "{}"),
    "run SCRIPT": ("run", "{}"),
    "--config": ("inspect", "net.py", "--config", "{}"),
    "run --config": ("run", "--config", "{}", "net.py"),
    "render FILE": ("render", "{}"),
    "diff A": ("diff", "{}.json", "r.json"),
    "diff B": ("diff", "r.json", "{}.json"),
    "check --against": ("check", "--against", "{}"),
    "check MODEL --against": ("check", "net.py", "--against", "{}"),
    "run --against": ("run", "--against", "{}", "net.py"),
    "--baseline": ("check", "--against", "r.json", "--baseline", "{}"),
}
KEYS = {
    "libraries": "libraries: ['{}']",
    "extends": "extends: '{}'",
    "model": "model: '{}'",
    "model.weights": "model: {{source: net.py, weights: '{}'}}",
    "same_as": "checks: [{{rule: same_as, report: '{}'}}]",
    "inputs": "inputs: {{x: '{}.pt'}}",
}
SUFFIXES = ("", ".py", ".pt", ".pt2", ".json")
KINDS = {
    "pipe": "pipe",
    "link-to-pipe": "pipe",
    "socket": "socket",
    "folder": "s a directory|folder without __main__",
    "nowhere": "symbolic link to no/where, which does not exist",
    "loop": "symbolic links form a loop",
    "/dev/zero": "device|has no end|larger than 256 KiB",
    "empty": "empty",
}
CAN_BE_EMPTY = {"run SCRIPT"}
A_FOLDER_IS_ALLOWED = {"model.weights"}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    (folder / "net.py").write_text(NET)
    return run_cli("inspect", "net.py", "-f", "json", cwd=folder).out


@pytest.fixture(autouse=True)
def places(report, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plain_files, "_PATIENCE", 0.02)
    monkeypatch.setattr(plain_files, "_ENDLESS", 1 << 19)
    monkeypatch.setattr("hookcli.cli.training.script_request._LARGEST", 1 << 18)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "r.json").write_text(report)
    for suffix in SUFFIXES:
        (tmp_path / f"empty{suffix}").write_text("")
        (tmp_path / f"folder{suffix}").mkdir()
        os.mkfifo(f"pipe{suffix}")
        (tmp_path / f"link-to-pipe{suffix}").symlink_to("pipe")
        (tmp_path / f"nowhere{suffix}").symlink_to("no/where")
        (tmp_path / f"loop{suffix}").symlink_to(f"loop{suffix}")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"socket{suffix}")


def check_three_lines(message, kind):
    assert any(words in message for words in KINDS[kind].split("|")), message
    assert "No such device" not in message


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flag", LINES)
def test_what_a_flag_cannot_read_is_three_lines_that_say_what_it_is(flag, kind, refused):
    if kind == "empty" and flag in CAN_BE_EMPTY:
        return
    if flag.startswith("diff") and kind == "/dev/zero":
        return  # the ending says that it is no report
    message, _, _ = refused(*(word.format(kind) for word in LINES[flag]))
    check_three_lines(message, kind)


@pytest.mark.parametrize("suffix", [".pt", ".pt2"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("/")])
def test_the_ending_of_the_name_makes_no_difference(suffix, kind, refused):
    message, _, _ = refused("inspect", f"{kind}{suffix}")
    check_three_lines(message, kind)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "empty"])
@pytest.mark.parametrize("key", KEYS)
def test_what_a_key_cannot_read_is_three_lines_that_say_what_it_is(key, kind, refused):
    if kind == "folder" and key in A_FOLDER_IS_ALLOWED:
        return
    if key == "inputs" and kind.startswith("/"):
        return
    Path("c.yaml").write_text(KEYS[key].format(kind))
    message, place, _ = refused("inspect", "--config", "c.yaml")
    assert place.startswith("c.yaml:1: ")
    check_three_lines(message, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_are_read_from_regular_files(kind):
    with pytest.raises(HookcliError) as caught:
        read_tensors(str(Path.cwd() / kind), "--weights")
    check_three_lines(caught.value.message, kind)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "empty"])
def test_libraries_are_regular_files(kind):
    with pytest.raises(HookcliError) as caught:
        load_libraries((str(Path.cwd() / kind),))
    check_three_lines(caught.value.message, kind)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("flag", LINES)
def test_a_file_without_permission_is_three_lines(flag, refused):
    Path("empty.py").chmod(0)
    message, _, _ = refused(*(word.format("empty.py") for word in LINES[flag]))
    assert "Permission denied" in message


class TestScripts:
    """`hookcli run` runs what plain Python can run."""

    @pytest.fixture
    def started(self, line, monkeypatch):
        found = []
        monkeypatch.setattr(
            "hookcli.cli.training.launch.launch", lambda request: found.append(request) or 0
        )

        def go(*args):
            status, _, err = line("run", *args)
            assert status == 0, err
            return found.pop().job.script.source

        return go

    def test_a_pipe_is_read_once_and_whole(self, started, monkeypatch):
        monkeypatch.setattr(plain_files, "_PATIENCE", 10)
        thread = threading.Thread(target=lambda: Path("pipe").write_text("print(1)\n"))
        thread.start()
        assert started("pipe") == b"print(1)\n"
        thread.join()

    def test_a_descriptor_without_a_writer_has_ended(self, started):
        ours, theirs = os.pipe()
        os.close(theirs)
        assert started(f"/dev/fd/{ours}") == b""
        os.close(ours)

    def test_the_null_device_is_empty_and_a_file_is_not_read(self, started):
        assert started("/dev/null") == b""
        assert started("net.py") is None

    def test_plain_python_reads_a_pipe_itself(self, started, monkeypatch):
        monkeypatch.setenv("HOOKCLI_RUN", "0")
        assert started("pipe") is None


def test_a_script_in_a_pipe_that_is_no_python_fails(tmp_path):
    done = run_cli("run", "/dev/stdin", stdin="x = (\n", cwd=tmp_path, real=True)
    assert done.status == 1
    assert "SyntaxError: '(' was never closed" in done.err
    assert "hookcli/" not in done.err
