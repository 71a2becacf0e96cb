"""Files and pipes are read whole, and what never ends is refused."""

from __future__ import annotations

import ast
import errno
import os
import sys
import threading
import time
from inspect import signature
from pathlib import Path

import pytest

from hookcli import plain_files
from hookcli.errors import RequestError
from hookcli.models.files.sharded import read_shards
from hookcli.models.sources.config_folders import read_config_file
from hookcli.plain_files import read_bytes
from tests.source_code import tree_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes, /dev/zero")
CHUNK = 1 << 20
PACKAGE = Path(plain_files.__file__).parent


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_a_file_is_read_whole(size, tmp_path):
    data = os.urandom(size)
    (tmp_path / "x").write_bytes(data)
    assert read_bytes(str(tmp_path / "x")) == data


@pytest.mark.parametrize(("size", "read"), [(9, 9), (10, 10), (11, 11), (12, 11), (100, 11)])
def test_of_a_file_that_is_too_large_one_byte_more_is_read(size, read, tmp_path):
    (tmp_path / "x").write_bytes(b"x" * size)
    assert len(read_bytes(str(tmp_path / "x"), most=10)) == read


@pytest.mark.parametrize(
    ("path", "number"),
    [("missing", errno.ENOENT), (".", errno.EISDIR), ("a\0b", errno.EINVAL)],
)
def test_what_cannot_be_read_says_why(path, number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError) as caught:
        read_bytes(path)
    assert caught.value.errno == number
    assert caught.value.strerror


def test_a_device_without_end_is_refused():
    with pytest.raises(OSError, match="it has no end, or is larger than 4 GiB") as caught:
        read_bytes("/dev/zero")
    assert caught.value.errno == errno.EFBIG
    assert len(read_bytes("/dev/zero", most=(1 << 26) - 1)) == 1 << 26  # it may be asked for
    assert read_bytes("/dev/null") == b""


def test_more_than_memory_could_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_files, "_MOST", 10)
    (tmp_path / "x").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="larger than 4 GiB"):
        read_bytes(str(tmp_path / "x"), 10)
    (tmp_path / "x").write_bytes(b"x" * 10)
    assert read_bytes(str(tmp_path / "x"), 10) == b"x" * 10


def test_the_message_about_a_large_file_is_right():
    assert read_bytes(__file__) == Path(__file__).read_bytes()
    assert signature(read_bytes).parameters["most"].default == 4 * 1024**3


@pytest.fixture
def pipe(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    return path


def writing(path, *chunks, before=0.0, between=0.0):
    """A thread that opens a pipe for writing, and writes these with pauses."""

    def write():
        time.sleep(before)
        with Path(path).open("wb", buffering=0) as file:
            for chunk in chunks:
                time.sleep(between)
                file.write(chunk)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("chunks", "pauses"),
    [
        ([b"one"], {}),
        ([b"one", b"two"], {"before": 0.05}),
        ([b"one", b"two"], {"between": 0.05}),  # it is open for a while before something comes
        ([], {"before": 0.05}),
        ([os.urandom(300_000), b"end"], {"before": 0.05, "between": 0.02}),
    ],
)
def test_a_pipe_is_read_to_its_end_however_slow_its_writer_is(pipe, chunks, pauses):
    thread = writing(pipe, *chunks, **pauses)
    assert read_bytes(pipe) == b"".join(chunks)
    thread.join()


def test_of_a_pipe_too_the_most_is_read(pipe):
    writing(pipe, b"x" * 100)
    assert len(read_bytes(pipe, most=10)) >= 11


def test_a_pipe_that_pauses_after_the_most_is_still_too_long(pipe):
    writing(pipe, b"x" * 10, b"y", between=0.05)
    assert len(read_bytes(pipe, most=10)) == 11


def test_a_pipe_that_nobody_writes_to_is_given_up(pipe, monkeypatch):
    monkeypatch.setattr(plain_files, "_PATIENCE", 0.1)
    with pytest.raises(OSError, match="it is a pipe that nobody writes to") as caught:
        read_bytes(pipe)
    assert caught.value.errno == errno.EAGAIN


@pytest.mark.parametrize(
    "read",
    [
        lambda path: list(read_shards(path, path, device="cpu")),
        lambda path: read_config_file(Path(path), path),
    ],
)
def test_a_pipe_in_place_of_a_json_file_is_given_up(read, pipe, monkeypatch):
    monkeypatch.setattr(plain_files, "_PATIENCE", 0.1)
    with pytest.raises(RequestError, match="it is a pipe that nobody writes to"):
        read(pipe)


# Other readers of paths. Each is reached only for what `is_file` says is a regular file, or for a
# file of the system, of an installation or of hookcli's own.
OTHERS = {
    ("actions/output_folder.py", "write"),
    ("cli/training/script_request.py", "_checked_script"),
    ("cli/watch/ready_run.py", "_content"),
    ("engine/loop/hooks.py", "most_nodes_read"),
    ("engine/parallel/records.py", "read_records"),
    ("formats/html/bundle.py", "_read"),
    ("interpreters/names.py", "_made_by_uv"),
    ("memory.py", "_fields"),
    ("memory.py", "_group"),
    ("models/exported/screening/trust.py", "safe_to_open"),
    ("models/fake/lazy_compiler.py", "_names_of_shapes"),
    ("models/files/tensors.py", "_read"),
    ("models/python/discovery.py", "_assigned"),
    ("models/python/discovery.py", "_used_names"),
    ("models/python/importing.py", "import_file"),
    ("models/sources/content.py", "_beginning"),
    ("models/sources/content.py", "_is_onnx"),
    ("models/sources/content.py", "identify"),
    ("models/sources/model_files.py", "_statements"),
    ("models/sources/torch_files.py", "of_pickle"),
    ("models/torchscript/load.py", "_read"),
    ("outputs/special_files.py", "_opened"),
    ("report/journal/ask_files.py", "leave_ask"),
    ("report/journal/journal_file.py", "create"),
    ("report/journal/journal_reader.py", "update"),
    ("system/supervised_process.py", "_keeps"),
    ("system/unnamed_file.py", "read"),
    ("training/non_finite/isolated.py", "_limit_resources"),
    ("training/parallel/children.py", "reports"),
    ("training/parallel/other_ranks.py", "collect"),
    ("training/script/child_session.py", "begin"),
    ("training/script/native_main.py", "_of_file"),
    ("training/script/native_main.py", "_read"),
    ("whole_files.py", "_overwrite"),
    ("worker/child/forking.py", "_open_streams"),
    ("worker/process.py", "first_lines"),
    ("worker/processes.py", "children"),
    ("worker/processes.py", "resident"),
    ("worker/watched/opened_files.py", "read_record"),
    ("weights/kinds/distributed.py", "_find"),
    ("weights/kinds/distributed.py", "read"),
    ("weights/kinds/gguf_file.py", "read"),
    ("weights/kinds/safetensors_file.py", "__init__"),
    ("weights/kinds/single_file.py", "read_file"),
    ("weights/kinds/torch_file.py", "_read_legacy"),
    ("weights/values.py", "read"),
}


def readers(path):
    """Yield the functions of a file of the package that read the file at a path."""
    for function in ast.walk(tree_of(path)):
        if isinstance(function, ast.FunctionDef):
            calls = [one for one in ast.walk(function) if isinstance(one, ast.Call)]
            if any(_reads(one) for one in calls):
                yield path.relative_to(PACKAGE).as_posix(), function.name


def _reads(call):
    of = call.func
    if isinstance(of, ast.Name):
        opens = of.id == "open"
    elif isinstance(of, ast.Attribute):
        if of.attr in {"read_text", "read_bytes"}:
            return True
        opens = of.attr == "open" and any(isinstance(one, ast.Constant) for one in call.args)
    else:
        opens = False
    modes = [one.value for one in call.args if isinstance(one, ast.Constant)]
    return opens and not any(str(mode)[:1] in {"w", "a", "x"} for mode in modes)


def test_files_of_users_are_read_without_waiting_for_a_pipe():
    found = {one for path in PACKAGE.rglob("*.py") for one in readers(path)}
    assert sorted(found - OTHERS) == [], "read them with hookcli.plain_files.read_bytes"
    assert sorted(OTHERS - found) == []
