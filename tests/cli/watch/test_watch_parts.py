"""The parts of `--watch`, each alone: files that change, marks, sentences, recorded files."""

from __future__ import annotations

import subprocess
import sys
import time

from hookcli.cli.watch.followed_files import FollowedFiles
from hookcli.cli.watch.result_facts import differences, in_short
from hookcli.cli.watch.watch_page import PageSize, WatchPage, changed_lines
from hookcli.worker.watched.opened_files import read_record
from tests.conftest import ROOT

TABLE = "Layer\nNet\n├─ fc1  10\n└─ fc2  20\n"


def test_new_and_changed_rows_are_marked_and_moved_guides_are_not():
    after = "Layer\nNet\n├─ fc1  10\n├─ fc2    2000\n└─ fc3    3\n"
    assert changed_lines(TABLE, after) == {3: "changed", 4: "new"}
    assert changed_lines(TABLE, TABLE.replace("  ", "    ")) == {}
    assert changed_lines(TABLE, "\x1b[1mLayer\x1b[0m\nNet\n└─ fc1  10\n") == {}


def test_a_page_fits_the_terminal():
    table = "".join(f"row {number} {'x' * 70}\n" for number in range(100))
    before = table.replace("row 50 ", "row 50 y")
    page = WatchPage("head " * 30, ["c" * 200], table, before, "error: " + "w " * 100, failed=False)
    for size in (PageSize(24, 80), PageSize(10, 40), PageSize(50, 200)):
        lines = page.lines(size, color=False, unicode=False)
        assert len(lines) <= size.lines
        room = [line for line in lines if not line.startswith("row") or "<" in line]
        assert max(map(len, room)) <= size.columns
        if size.lines > 10:
            assert any("row 50" in line and line.endswith("< changed") for line in lines)
            assert any("more lines" in line for line in lines)


def test_the_output_of_a_model_cannot_move_the_cursor():
    page = WatchPage("head", [], "table", None, "10%\r20%\rdone \x1b[5Aup", failed=False)
    lines = page.lines(PageSize(24, 80), color=True, unicode=True)
    assert "done" in lines[-1]
    assert "\x1b[5A" not in "".join(lines)


def test_differences_are_sentences():
    before = {
        "layer fc1": {"type": "Linear", "output": "[2, 3]"},
        "layer fc2": {"type": "Linear", "output": "[2, 4]"},
        "warning dead_units fc1": {"text": "fc1 has dead units"},
        "parameter fc1.weight": {"shape": "[3, 8]"},
    }
    after = {
        "error finite fc2": {"text": "fc2 returns nan"},
        "layer fc1": {"type": "Linear", "output": "[2, 5]"},
        "layer fc3": {"type": "ReLU", "output": ""},
        "parameter fc1.weight": {"shape": "[5, 8]"},
    }
    assert differences(before, after) == [
        "error finite fc2: fc2 returns nan",
        "layer fc3 added (type ReLU)",
        "layer fc2 removed",
        "warning dead_units fc1 removed",
        "layer fc1: output [2, 3] is now [2, 5]",
    ]
    assert differences(before, before) == []
    only = {"parameter w": {"gradient": "ok"}}
    assert differences(only, {"parameter w": {"gradient": "zero"}}) == [
        "parameter w: gradient ok is now zero"
    ]
    assert in_short(after) == "2 layers, 1 finding"


def test_a_changed_file_is_told_once(tmp_path):
    file, missing = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("1")
    files = FollowedFiles()
    files.follow([str(file), str(missing)], since=time.time_ns(), folders=False)
    assert files.changed() == []
    file.write_text("22")
    missing.write_text("")
    assert sorted(files.changed()) == [str(file), str(missing)]
    assert files.changed() == []
    file.unlink()
    assert files.changed() == [str(file)]


def test_a_new_file_in_the_folder_counts_after_a_failure_only(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("1")
    files = FollowedFiles()
    for failed in (False, True):
        files.follow([str(file)], since=time.time_ns(), folders=failed)
        (tmp_path / f"new{failed}").write_text("")
        assert files.changed() == ([str(tmp_path)] if failed else [])


def test_a_file_that_was_edited_during_its_first_run_is_changed(tmp_path):
    file, before = tmp_path / "a.py", time.time_ns() - 10**9
    file.write_text("1")
    files = FollowedFiles()
    assert files.follow([str(file)], since=before, folders=False) == []
    assert files.changed() == [str(file)]


def test_a_file_that_each_run_changes_is_dropped(tmp_path):
    """A model may write a file by code in C, which records nothing."""
    file = tmp_path / "log"
    files = FollowedFiles()
    dropped = []
    for run in range(5):
        since = time.time_ns() - 10**9
        file.write_text("x" * (run + 1))
        dropped.append(files.follow([str(file)], since=since, folders=False))
        if dropped[-1]:
            break
        assert files.changed() == [str(file)]
    assert dropped[-1] == [str(file)]
    assert files.changed() == []


RECORDED = """
import sys
sys.path.insert(0, {root!r})
sys.path.insert(0, {folder!r})
from hookcli.worker.watched import opened_files
opened_files.record({record!r})
import mine, json, numpy
open("data.txt").read()
open("both.txt", "w").close()
open("both.txt").read()
try:
    open("missing.txt")
except OSError:
    pass
opened_files.note_modules({record!r})
"""


def test_the_user_s_files_are_recorded(tmp_path):
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "data.txt").write_text("")
    record = tmp_path / "record"
    record.touch()
    code = RECORDED.format(root=str(ROOT), folder=str(tmp_path), record=str(record))
    for _ in range(2):  # the second time, Python reads bytecode
        record.write_text("")
        subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
        recorded = read_record(str(record))
        names = {"mine.py", "data.txt", "missing.txt"}
        assert recorded.files == {str(tmp_path / name) for name in names}
        assert recorded.modules[-1] == "hookcli.worker.watched.opened_files"
