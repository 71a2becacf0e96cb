"""`hookcli diff` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import pytest

from tests.conftest import HEAD, ROOT

NET = """
class Net(nn.Module):
    example_inputs = (torch.ones(2, 4),)

    def __init__(self, scale=1.0, width=8, shift=0.0):
        super().__init__()
        self.a = nn.Linear(4, width)
        self.b = nn.Linear(width, 3)
        self.scale = scale
        with torch.no_grad():
            self.b.bias += shift

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)) * self.scale)
"""


@pytest.fixture
def net(model_file):
    model_file(NET, "net.py")


def last(done):
    return done.out.splitlines()[-1]


def text(done):
    return " ".join(done.out.split())


def test_two_sources_that_are_equal_are_the_same(cli, net):
    done = cli("diff", "net.py", "net.py")
    assert (done.status, done.err) == (0, "")
    assert last(done) == "SAME: bitwise equal"


def test_siblings_of_one_name_do_not_mix(cli, model_file):
    for folder, factor in (("one", "1.0"), ("two", "1.25")):
        model_file(
            f"class Scale(nn.Module):\n    def forward(self, x):\n        return x * {factor}\n",
            f"{folder}/layers.py",
        )
        model_file(
            "from layers import Scale\n"
            "class Net(nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.fc, self.scale = nn.Linear(4, 4), Scale()\n"
            "    def forward(self, x):\n"
            "        return self.scale(self.fc(x))\n",
            f"{folder}/model.py",
        )
    done = cli("diff", "one/model.py:Net", "two/model.py:Net", "-i", "2x4", "-f", "json")
    assert done.status == 1
    first = done.report["first"]
    assert (first["fault"], first["a"]["name"]) == ("output", "scale")
    assert first["relative"] == pytest.approx(0.25)
    assert first["a"]["place"].startswith("one/model.py:")
    assert first["b"]["place"].startswith("two/model.py:")


def test_a_s_weights_go_into_b_unless_it_keeps_its_own(cli, net):
    shifted = "net.py?arg=shift=0.5"
    done = cli("diff", "net.py", shifted)
    assert done.status == 0
    assert "4 tensors of A loaded into B, 1 of them with new values" in text(done)
    done = cli("diff", "net.py", shifted, "--own-weights")
    assert done.status == 1
    assert "the inputs of b (Linear) agree, but its output" in text(done)
    assert "(b.bias differs)" in text(done)
    assert last(done) == "DIFFERENT: 2 of 3 calls, 1 of 4 parameters"


def test_weights_that_do_not_fit_are_named(cli, net):
    done = cli("diff", "net.py", "net.py?arg=width=9")
    assert done.status == 1
    assert "not loaded: a.weight is [8, 4] in A and [9, 4] in B" in text(done)
    assert "67 parameters in A and 75 in B" in last(done)


def test_a_side_that_names_weights_keeps_them(cli, net, tmp_path):
    code = (
        "import torch; from net import Net; m = Net(); "
        "m.a.weight.data[0, 0] += 1; torch.save(m.state_dict(), 'w.pt')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    done = cli("diff", "net.py", "net.py?weights=w.pt")
    assert done.status == 1
    assert "Weights A and B each use their own" in done.out
    assert "the inputs of a (Linear) agree, but its output" in text(done)


def test_bfloat16_is_held_to_its_own_tolerance_and_may_be_held_to_another(cli, net):
    done = cli("diff", "net.py", "net.py?dtype=bfloat16")
    assert done.status == 0
    assert last(done).startswith("SAME within tolerance")
    done = cli("diff", "net.py", "net.py?dtype=bfloat16", "--tolerance", "1e-6")
    assert done.status == 1
    assert "differs by" in done.out


def test_a_configuration_may_stand_for_a_side(cli, net, tmp_path):
    (tmp_path / "b.yaml").write_text("model: {source: net.py, args: {scale: 2.0}}\n")
    done = cli("diff", "net.py", "b.yaml", "-f", "json")
    assert done.status == 1
    assert done.report["first"]["fault"] == "code"
    assert done.report["first"]["relative"] == pytest.approx(1.0)


def test_an_inferred_batch_is_used_for_both(cli, model_file):
    model_file(NET.replace("    example_inputs = (torch.ones(2, 4),)\n", ""), "net.py")
    done = cli("diff", "net.py", "net.py", "-f", "json")
    assert done.status == 0, done.err
    assert done.report["inputs"]["origin"] == "inferred"
    assert done.report["calls"] == {
        "same": 3, "close": 0, "different": 0, "unknown": 0, "only_a": 0, "only_b": 0
    }  # fmt: skip


def test_gradients_are_compared_where_asked_for(cli, net):
    done = cli("diff", "net.py", "net.py?arg=scale=1.5", "--grads", "-f", "json")
    assert done.status == 1
    assert done.report["a"]["run"]["mode"] == "train"
    assert any(
        row["gradient"]["status"] == "different" for row in done.report["state"] if row["gradient"]
    )


def test_fail_on_never_leaves_the_status_at_0(cli, net):
    done = cli("diff", "net.py", "net.py?arg=scale=2.0", "--fail-on", "never")
    assert done.status == 0
    assert last(done).startswith("DIFFERENT: ")


def test_save_keeps_the_tensors_of_the_first_call_and_both_reports(cli, net, tmp_path):
    from safetensors.torch import load_file

    done = cli("diff", "net.py", "net.py?arg=scale=2.0", "--save", "kept")
    assert done.status == 1
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert names == {
        "a.json", "b.json", "a.inputs.safetensors", "a.outputs.safetensors",
        "b.inputs.safetensors", "b.outputs.safetensors",
    }  # fmt: skip
    ours = load_file(tmp_path / "kept" / "a.inputs.safetensors")["[0]"]
    theirs = load_file(tmp_path / "kept" / "b.inputs.safetensors")["[0]"]
    assert (ours * 2).equal(theirs)
    again = cli("diff", "kept/a.json", "kept/b.json", "-f", "json")
    assert again.status == 1
    assert again.report["first"]["within"]["name"] == ""
    assert again.report["reasons"] == ["2 of 3 calls"]


def test_reports_without_values_are_compared_as_far_as_they_tell(cli, net):
    cli("inspect", "net.py", "-f", "json=a.json")
    cli("inspect", "net.py?".rstrip("?"), "--arg", "width=9", "-f", "json=b.json")
    same = cli("diff", "a.json", "a.json")
    assert same.status == 0
    unknown = "the values of 3 of 3 calls are unknown"
    assert last(same) == f"SAME as far as the reports show: {unknown}"
    wide = cli("diff", "a.json", "b.json")
    assert wide.status == 1
    assert "has shape [2, 8] in A and [2, 9] in B" in text(wide)


def test_a_model_and_a_scripted_copy_of_it_agree(cli, net, tmp_path):
    code = "import torch; from net import Net; torch.jit.script(Net()).save('net.pt')"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, check=True)
    done = cli("diff", "net.py", "net.pt")
    assert done.status == 0, done.err + done.out
    assert "4 tensors of A loaded into B" in text(done)


@pytest.mark.parametrize(
    ("arguments", "status", "message", "place"),
    [
        (["net.py", "no.py"], 2, "B: file not found: no.py", "no.py"),
        (["no.py", "net.py"], 2, "A: file not found: no.py", "no.py"),
        (["net.py?dtyp=bf16", "net.py"], 2, "unknown setting 'dtyp'", "net.py?dtyp=bf16"),
        (["net.py", "net.py?mode=dream"], 2, "unknown mode 'dream'", "net.py?mode=dream"),
        (["net.py", "a.json"], 2, "a saved report can only be compared with", "net.py"),
        (
            ["net.py", "net.py", "--tolerance", "b=x"],
            2,
            "--tolerance must be a number of at least 0, got 'x'",
            "--tolerance b=x",
        ),
        (
            ["net.py", "net.py", "-f", "perfetto"],
            2,
            "diff does not support format",
            "-f perfetto",
        ),
        (["net.py", "net.py", "--save", "net.py"], 2, "cannot create net.py", "--save net.py"),
        (["net.py", "bad.py"], 3, "B: ValueError in forward", "bad.py:7"),
        (["bad.py", "net.py", "-i", "2x4"], 3, "A: ValueError in forward", "bad.py:7"),
        (["net.py", "two.py"], 2, "B: Two.forward does not accept the batch", "two.py"),
        (["net.py", "broken.py"], 3, "B: broken.py is not valid Python", "broken.py"),
        (
            ["net.py", "slow.py", "--timeout", "2"],
            3,
            "B: the run took longer than ",
            "slow.py",
        ),
        (["net.py", "gone.py"], 3, "B: the process exited with status 7", "gone.py"),
    ],
)
def test_a_failure_names_its_side(cli, model_file, net, arguments, status, message, place):
    (model_file("", "broken.py")).write_text("def (:\n")
    forward = "class {}(nn.Module):\n    def forward(self, x{}):\n        {}\n"
    model_file("import os, time\n\n" + forward.format("Bad", "", "raise ValueError(1)"), "bad.py")
    model_file(forward.format("Two", ", y", "return x + y"), "two.py")
    model_file("import time\n" + forward.format("Slow", "", "time.sleep(600)"), "slow.py")
    model_file("import os\n" + forward.format("Gone", "", "os._exit(7)"), "gone.py")
    done = cli("diff", *arguments)
    if "--timeout" in arguments and "A: " in done.err:  # the machine is busy
        done = cli("diff", *arguments[:-1], "60")
    assert done.status == status, done.err
    assert done.out == ""
    said, where, _ = done.error()
    assert said.startswith(message)
    assert place in where


def test_the_json_satisfies_its_schema(cli, net):
    schema = json.loads(cli("schema", "diff").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    for arguments in (
        ["net.py"], ["net.py?arg=scale=2.0"], ["net.py?arg=width=9"], ["net.py?dtype=bfloat16"],
    ):  # fmt: skip
        done = cli("diff", "net.py", *arguments, "--grads", "-f", "json")
        jsonschema.validate(done.report, schema)


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_fits(cli, net, width):
    done = cli("diff", "net.py", "net.py?arg=scale=2.0", COLUMNS=str(width))
    assert max(map(len, done.out.splitlines())) <= width
    assert "inputs agree, output differs" in done.out or "output differs" in done.out


def test_names_of_the_user_s_are_harmless(cli, model_file):
    model_file(
        "class Net(nn.Module):\n"
        "    example_inputs = (torch.ones(2, 4),)\n"
        "    def __init__(self, scale=1.0):\n"
        "        super().__init__()\n"
        "        self.add_module('a\\x1b[31m|<b>', nn.Linear(4, 4))\n"
        "        self.scale = scale\n"
        "    def forward(self, x):\n"
        "        for one in self.children():\n"
        "            x = one(x * self.scale)\n"
        "        return x\n",
        "net.py",
    )
    for kind in ("table", "markdown"):
        done = cli("diff", "net.py", "net.py?arg=scale=2.0", "-f", kind)
        assert done.status == 1
        assert "\x1b" not in done.out
        assert "a\\x1b[31m" in done.out.replace("\\\\", "\\").replace("\\[", "[")
    assert "<b>" not in done.out
    assert "\\|" in done.out


def test_the_parent_loads_no_torch(net, tmp_path):
    code = (
        "import sys\n"
        "from hookcli.cli.main import guarded\n"
        "assert guarded(['diff', 'net.py', 'net.py?arg=scale=2.0']) == 1\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr


assert HEAD.count("\n") == 2  # lines above each model's source, for the places


def test_a_report_has_the_settings_that_were_typed_for_a_side(cli, net):
    done = cli("diff", "net.py", "net.py?arg=width=8&mode=train", "-f", "json")
    sides = json.loads(done.out)
    assert "settings" not in sides["a"]
    assert sides["b"]["settings"] == ["arg=width=8", "mode=train"]
