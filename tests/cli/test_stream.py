"""`--stream FILE`: no run where it could not be written, and nothing that is read is lost."""

from __future__ import annotations

import pytest

from hookcli.report.recording import Recording
from hookcli.report.sinks import StreamedSink
from tests.cli.test_requests import CONFIG, NET


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "hooks.py").write_text("def halve(module, args, output): return output / 2\n")
    (tmp_path / "c.yaml").write_text(CONFIG.replace("{scale: 0.5}", '{call: "hooks.py:halve"}'))
    (tmp_path / "link").symlink_to(tmp_path / "net.py")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_stream_reaches_the_worker(folder, asked):
    (folder / "old.jsonl").write_text("old")
    assert asked("trace", "net.py", "--stream", "old.jsonl").stream.endswith("old.jsonl")
    assert asked("trace", "net.py", "--stream", "/dev/null").stream == "/dev/null"


@pytest.mark.parametrize(
    ("file", "why"),
    [(".", "is a directory"), ("no/e.jsonl", "folder not found"), (300 * "x", "too long")],
)
def test_a_stream_that_cannot_be_written_is_refused(file, why, refused):
    message, place, _ = refused("trace", "net.py", "--stream", file)
    assert "cannot write" in message
    assert why in message
    assert file in place


@pytest.mark.parametrize("file", ["net.py", "link", "c.yaml", "hooks.py"])
def test_a_stream_never_goes_over_a_file_that_is_read(file, folder, refused):
    before = (folder / file).read_bytes()
    message, _, _ = refused("trace", "-c", "c.yaml", "--stream", file)
    assert "it is the same file as" in message
    assert (folder / file).read_bytes() == before


@pytest.mark.parametrize("file", ["c.yaml", "hooks.py"])
def test_a_report_never_goes_over_a_configuration_or_its_functions(file, refused):
    assert "it is the same file as" in refused("trace", "-c", "c.yaml", "-o", file)[0]


def test_a_stream_and_a_format_cannot_share_a_file(refused):
    message, _, _ = refused("trace", "net.py", "--stream", "e.json", "-f", "json=./e.json")
    assert message.endswith("a format has the same file")


def test_a_stream_cannot_go_to_stdout(refused):
    message, place, _ = refused("trace", "net.py", "--stream", "-")
    assert message == "--stream cannot write to stdout, which gets the report"
    assert place == "--stream -"


def test_a_stream_into_a_device_cannot_be_rewound():
    sink = StreamedSink("/dev/null")
    sink.mark()
    sink.rewind()
    recording = Recording()
    sink.close(recording)
    assert recording.streamed == ("/dev/null", 0, 0)
