"""Streams, files and formats of the command line."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import jsonschema
import pytest

from hookcli.report.schema import json_schema
from tests.conftest import ROOT, SAMPLES, run_cli

SIAMESE = SAMPLES / "siamese.py"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """One inspection, in every format at once: (stdout, folder)."""
    folder = tmp_path_factory.mktemp("saved")
    result = run_cli(
        "inspect", SIAMESE, "-f", "json=r.json", "-f", "table", "-f", "markdown=r.md",
        "-f", "tree=r.txt", cwd=folder,
    )  # fmt: skip
    assert result.status == 0, result.err
    return result, folder


def test_several_formats_come_from_one_run(saved):
    result, folder = saved
    assert result.out.startswith("model  SiameseNet  ")
    assert sorted(path.name for path in folder.iterdir()) == ["r.json", "r.md", "r.txt"]
    assert result.err == ""


def test_the_report_holds_to_its_schema(saved):
    report = json.loads((saved[1] / "r.json").read_text())
    jsonschema.validate(report, json_schema())
    assert report["schema"] == "hookcli.report/1"
    assert list(report) == [
        "schema", "command", "status", "environment", "model", "run", "inputs", "layers",
        "edges", "uncalled", "parameters", "buffers", "existing_hooks", "events", "measurements",
        "checks", "distributed", "totals", "warnings", "error",
    ]  # fmt: skip


def test_the_printed_schema_is_the_one_in_force():
    printed = json.loads(run_cli("schema", "report").out)
    assert printed == json.loads(json.dumps(json_schema()))
    jsonschema.Draft202012Validator.check_schema(printed)


@pytest.mark.parametrize("form", ["table", "tree", "markdown", "json"])
def test_rendering_a_saved_report_gives_what_the_run_gave(saved, form):
    result, folder = saved
    again = run_cli("render", "r.json", "-f", form, cwd=folder)
    name = {"tree": "r.txt", "markdown": "r.md", "json": "r.json"}.get(form)
    assert again.out == (result.out if name is None else (folder / name).read_text())


def test_a_report_can_come_from_stdin(saved):
    text = (saved[1] / "r.json").read_text()
    assert run_cli("render", "-", stdin=text).out == saved[0].out


def test_the_same_run_gives_the_same_bytes_outside_environment(saved, tmp_path):
    again = run_cli("inspect", SIAMESE, "-f", "json", "-o", tmp_path / "r.json")
    assert again.out == ""
    one, other = (json.loads((d / "r.json").read_text()) for d in (saved[1], tmp_path))
    assert one.pop("environment").keys() == other.pop("environment").keys()
    one["model"]["place"] = other["model"]["place"]
    text = json.dumps(one).replace(str(SAMPLES), "sample_models")
    assert text == json.dumps(other).replace(str(SAMPLES), "sample_models")


def test_files_get_ordinary_permissions_and_keep_theirs(saved, tmp_path):
    report = saved[1] / "r.json"
    fresh, kept = tmp_path / "fresh.md", tmp_path / "kept.md"
    kept.write_text("old")
    kept.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(kept)
    mask = os.umask(0o022)
    try:
        run_cli("render", report, "-f", "markdown", "-o", fresh)
        run_cli("render", report, "-f", "markdown", "-o", link)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o644
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert kept.read_text() == fresh.read_text()


def test_a_device_is_written_in_place(saved):
    assert run_cli("render", saved[1] / "r.json", "-o", "/dev/null").status == 0


def test_nobody_reading_is_status_141_and_silent(saved):
    command = f"{sys.executable} -m hookcli render {saved[1]}/r.json; echo $? >&2"
    done = subprocess.run(
        ["bash", "-c", f"({command}) | true"],
        capture_output=True, text=True, cwd=ROOT, timeout=60,
    )  # fmt: skip
    assert done.stderr.strip() in {"141", "0"}  # 0 where the pipe took it all before it closed
    closed = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m hookcli render {saved[1]}/r.json >&-; echo $?"],
        capture_output=True, text=True, cwd=ROOT, timeout=60,
    )  # fmt: skip
    assert closed.stdout.strip() == "141"
    assert closed.stderr == ""


def test_the_table_fills_the_columns_it_is_given(saved):
    wide = run_cli("render", "r.json", cwd=saved[1], COLUMNS="200").out
    narrow = run_cli("render", "r.json", cwd=saved[1], COLUMNS="60").out
    assert max(map(len, narrow.splitlines())) <= 60
    assert 60 < max(map(len, wide.splitlines())) <= 200


def test_a_stream_without_unicode_gets_ascii(saved):
    out = run_cli("render", "r.json", cwd=saved[1], PYTHONIOENCODING="ascii").out
    assert out.isascii()
    assert "|- left (Branch)" in out


def test_in_a_github_runner_the_model_s_output_is_fenced(tmp_path):
    (tmp_path / "m.py").write_text(
        "import os\nfrom torch import nn\nprint('::error::from the model')\n"
        "class Net(nn.ReLU): pass\n"
    )
    result = run_cli("inspect", "m.py", "-i", "2", cwd=tmp_path, GITHUB_ACTIONS="true")
    lines = result.err.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert len(token) >= 16
    assert lines.index("::error::from the model") < lines.index(f"::{token}::")
    assert result.status == 0


def test_the_readme_s_commands_work(tmp_path):
    for command in (
        ["inspect", str(SIAMESE)],
        ["inspect", str(SAMPLES / "unet.py") + ":UNet", "--depth", "2", "-f", "tree"],
    ):
        assert run_cli(*command, cwd=tmp_path).status == 0


@pytest.mark.parametrize("what", ["model", "link", "weights", "batch", "function"])
def test_no_file_that_is_read_is_written_over(tmp_path, what):
    import torch

    model, link = tmp_path / "m.py", tmp_path / "link.py"
    model.write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.ReLU): pass\n"
        "def batch(): return torch.ones(2)\n"
    )
    link.symlink_to(model)
    torch.save({}, tmp_path / "w.pt")
    torch.save(torch.ones(2), tmp_path / "b.pt")
    arguments = {
        "model": ["m.py", "-i", "2", "-o", "m.py"],
        "link": ["m.py:Net", "-i", "2", "-f", "json=link.py"],
        "weights": ["m.py", "-i", "2", "--weights", "w.pt", "-o", "w.pt"],
        "batch": ["m.py", "-i", "b.pt", "-o", "b.pt"],
        "function": ["m.py", "-i", "m.py:batch", "-o", "m.py"],
    }[what]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = run_cli("inspect", *arguments, cwd=tmp_path)
    assert "it is the same file as" in result.error()[0]
    assert result.status == 2
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["render", "r.json", "-o", "kept/"],
        ["render", "r.json", "-f", "table=kept/"],
        ["check", "--against", "r.json", "--baseline", "kept/", "--update-baseline"],
        ["init", "m.py", "-o", "new/"],
        ["snapshot", "m.py", "-o", "kept/", "--force"],
        ["trace", "m.py", "--stream", "kept/"],
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[-2:]),
)
def test_a_name_with_a_slash_at_its_end_is_no_file(saved, tmp_path, arguments):
    (tmp_path / "r.json").write_bytes((saved[1] / "r.json").read_bytes())
    (tmp_path / "m.py").write_text("from torch import nn\nclass Net(nn.ReLU): pass\n")
    (tmp_path / "kept").write_text("kept")
    result = run_cli(*arguments, cwd=tmp_path)
    assert result.status == 2
    assert result.error()[0].endswith("/: a name with a slash at its end is that of a folder")
    assert (tmp_path / "kept").read_text() == "kept"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("model", [[], ["m.py:Net", "-i", "2"]], ids=["saved", "run"])
@pytest.mark.parametrize("baseline", ["folder", "r.json", "out.json", "missing/b.json"])
def test_a_baseline_that_cannot_be_written_is_refused_before_the_report(
    saved, tmp_path, model, baseline
):
    (tmp_path / "r.json").write_bytes((saved[1] / "r.json").read_bytes())
    (tmp_path / "m.py").write_text("from torch import nn\nclass Net(nn.ReLU): pass\n")
    (tmp_path / "folder").mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    result = run_cli(
        "check", *model, "--against", "r.json", "-o", "out.json", "-f", "json",
        "--baseline", baseline, "--update-baseline", cwd=tmp_path,
    )  # fmt: skip
    assert result.status == 2
    assert result.error()[0].startswith("cannot write ")
    assert {path.name for path in tmp_path.iterdir()} == before
    assert (tmp_path / "r.json").read_bytes() == (saved[1] / "r.json").read_bytes()


def test_a_baseline_is_not_written_if_a_format_is_refused(saved, tmp_path):
    report = str(saved[1] / "r.json")
    result = run_cli(
        "check", "--against", report, "-f", "perfetto=t.json",
        "--baseline", "b.json", "--update-baseline", cwd=tmp_path,
    )  # fmt: skip
    assert (result.status, result.error()[0]) == (2, "the report has no timings")
    assert not [*tmp_path.iterdir()]


def test_a_report_is_not_written_over_as_it_is_read(saved):
    before = (saved[1] / "r.json").read_bytes()
    assert run_cli("render", "r.json", "-o", "r.json", cwd=saved[1]).status == 2
    assert (saved[1] / "r.json").read_bytes() == before


def test_a_dash_is_stdout(saved):
    assert run_cli("render", "r.json", "-o", "-", cwd=saved[1]).out == saved[0].out


def test_colour_is_there_when_asked_for_and_only_then(saved):
    plain = run_cli("render", "r.json", cwd=saved[1]).out
    painted = run_cli("render", "r.json", "--color", "always", cwd=saved[1]).out
    assert "\x1b" not in plain
    assert "\x1b[1m" in painted
    import re

    assert re.sub(r"\x1b\[\d+m", "", painted) == plain
    error = run_cli("render", "no.json", "--color", "always").err
    assert error.startswith("\x1b[31merror:\x1b[0m")


def test_a_failed_report_says_why_wherever_it_is_rendered(tmp_path):
    (tmp_path / "m.py").write_text(
        "from torch import nn\nclass Net(nn.Sequential):\n"
        "    def __init__(self): super().__init__(nn.Linear(3, 4))\n"
    )
    run_cli("inspect", "m.py", "-i", "2x5", "-f", "json=r.json", cwd=tmp_path)
    for form in ("table", "tree", "markdown"):
        text = run_cli("render", "r.json", "-f", form, cwd=tmp_path, COLUMNS="300").out
        assert "partial: RuntimeError in forward in '0'" in text
        assert "mat1 and mat2 shapes cannot be multiplied" in text


@pytest.mark.parametrize("parent", [5, 1, -1])
def test_a_report_out_of_order_is_refused(saved, tmp_path, parent):
    report = json.loads((saved[1] / "r.json").read_text())
    report["layers"][1]["parent"] = parent
    (tmp_path / "r.json").write_text(json.dumps(report))
    result = run_cli("render", "r.json", cwd=tmp_path)
    said = "greater than or equal to 0" if parent < 0 else "must come before it"
    assert said in result.error()[0]
    assert result.status == 2


def test_a_full_disk_is_said():
    full = run_cli("list", "formats")
    assert full.status == 0
    command = f"{sys.executable} -m hookcli schema report > /dev/full; echo $?"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "2"
    assert "cannot write stdout" in done.stderr
