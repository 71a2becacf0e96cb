"""grads and trace from end to end, as a user runs them."""

from __future__ import annotations

import json

import pytest

from tests.conftest import HEAD, SAMPLES, run_cli

SIAMESE = SAMPLES / "siamese.py"
NET = HEAD + (
    "import os\n"
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 3)\n"
    "    def forward(self, x): return self.b(self.a(x))\n"
    "class Values(Net):\n"
    "    def forward(self, x):\n"
    "        y = self.a(x)\n"
    "        return self.b(y if y.sum() > -1e9 else x)\n"
    "class Raises(Net):\n"
    "    def forward(self, x):\n"
    "        self.a(x)\n"
    "        raise ValueError('no')\n"
    "class Exits(Net):\n"
    "    def forward(self, x): os._exit(3)\n"
    "class Moves(Net):\n"
    "    def forward(self, x):\n"
    "        os.chdir('/')\n"
    "        return super().forward(x)\n"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    return tmp_path


def trace(folder, name, *more):
    return run_cli("trace", f"net.py:{name}", "-i", "2x4", *more, cwd=folder)


@pytest.mark.parametrize("command", ["grads", "trace"])
def test_a_command_says_which_it_is_and_ends_well(command, tmp_path):
    result = run_cli(command, SIAMESE, "-f", "json=r.json", "-f", "table", cwd=tmp_path)
    assert (result.status, result.err) == (0, "")
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["command"], report["run"]["mode"]) == (command, "train")
    assert run_cli("render", "r.json", cwd=tmp_path).out == result.out


@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_views_of_a_saved_trace_pick_its_events(form, folder):
    assert trace(folder, "Net", "-f", "json=r.json").status == 0
    shown = run_cli("render", "r.json", "-f", form, "--phase", "backward", cwd=folder).out
    assert "post_accumulate_grad" in shown
    assert "forward_pre" not in shown
    shown = run_cli("render", "r.json", "-f", form, "--kinds", "forward_pre", cwd=folder).out
    assert "forward_pre" in shown
    assert "post_accumulate_grad" not in shown


def test_kinds_say_what_is_hooked_not_what_is_shown(folder):
    kinds = "forward,post_accumulate_grad"
    report = trace(folder, "Net", "--kinds", kinds, "--phase", "forward", "-f", "json").report
    assert {event["kind"] for event in report["events"]} == set(kinds.split(","))


def test_a_stream_holds_every_event_and_replaces_what_stood_there(folder):
    whole = trace(folder, "Net", "-f", "json").report["events"]
    (folder / "e.jsonl").write_text("precious\n" * 1000)
    result = trace(folder, "Net", "--stream", "e.jsonl", "-f", "json")
    assert [json.loads(text) for text in (folder / "e.jsonl").read_text().splitlines()] == whole
    assert result.report["events"] == {"file": "e.jsonl", "count": len(whole), "dropped": 0}


def test_a_stream_holds_the_run_that_counts_only(folder):
    report = trace(folder, "Values", "--stream", "e.jsonl", "-f", "json").report
    seqs = [json.loads(text)["seq"] for text in (folder / "e.jsonl").read_text().splitlines()]
    assert report["run"]["tensors"] == "real"
    assert seqs == list(range(report["events"]["count"]))


def test_a_stream_stays_where_it_was_named(folder):
    assert trace(folder, "Moves", "--stream", "e.jsonl").status == 0
    assert (folder / "e.jsonl").stat().st_size > 0


def test_a_stream_of_a_run_that_failed_holds_what_came_before(folder):
    result = trace(folder, "Raises", "--stream", "e.jsonl")
    lines = (folder / "e.jsonl").read_text().splitlines()
    assert result.status == 3
    assert [json.loads(text)["target"] for text in lines] == ["", "a", "a"]


@pytest.mark.parametrize("name", ["Raises", "Exits"])
def test_a_model_that_fails_leaves_its_reports_beside_the_timeline(name, folder):
    result = trace(folder, name, "-f", "json=r.json", "-f", "perfetto=t.json", "-f", "table")
    assert result.status == 3
    assert json.loads((folder / "r.json").read_text())["status"] == "partial"
    assert "partial" in result.out


def test_a_configuration_s_hooks_act_and_are_traced(folder):
    (folder / "c.yaml").write_text(
        "model: net.py:Net\ninputs: [2x4]\nrun: {tensors: real}\n"
        "hooks:\n  - {kind: forward, at: a, do: [zero, stats]}\n"
    )
    report = run_cli("trace", "-c", "c.yaml", "-f", "json", cwd=folder).report
    (event,) = report["events"]
    assert (event["kind"], event["target"], event["hook"]) == ("forward", "a", 0)
    assert event["changed"] > 0
    assert event["values"][0]["stats"]["zeros"] == 8


def test_a_file_that_init_wrote_runs(folder):
    assert (
        run_cli("init", "net.py:Net", "--preset", "grads", "-o", "c.yaml", cwd=folder).status == 0
    )
    given = run_cli("grads", "-c", "c.yaml", "-i", "2x4", cwd=folder)
    own = run_cli("grads", "net.py:Net", "-i", "2x4", cwd=folder)
    assert (given.status, given.err) == (0, "")
    assert given.out.splitlines()[1:] == own.out.splitlines()[1:]  # the first names the place


def test_in_a_github_runner_the_output_of_a_trace_is_fenced(folder):
    (folder / "m.py").write_text(NET + "print('::error::from the model')\n")
    result = run_cli("grads", "m.py:Net", "-i", "2x4", cwd=folder, GITHUB_ACTIONS="true")
    lines = result.err.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    assert lines.index("::error::from the model") < lines.index(f"::{token}::")
    assert result.status == 0
