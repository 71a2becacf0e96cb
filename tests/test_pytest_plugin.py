"""The pytest plugin, in a pytest of its own that finds it by its entry point."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import HEAD, ROOT, Result, run_python

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

NET = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.fc = nn.Linear(4, classes)
    def forward(self, x):
        return self.fc(x)
"""
)
CHECKS = "inputs: ['2x4']\nchecks: [{rule: output_shape, shape: [B, 10]}]\n"
MAIN = """
import os, sys
sys.path[:0] = {path}
for name in [name for name in os.environ if name.startswith("PYTEST")]:
    del os.environ[name]
import pytest
# A fork has imported hookcli already, of which pytest could not rewrite assertions any more.
sys.exit(pytest.main(["--assert=plain", *{arguments}]))
"""


@pytest.fixture
def inner(tmp_path):
    """Run pytest in a folder with net.py, checks.yaml and these tests.

    `real` starts a Python of its own, as a user does.
    """
    site = tmp_path / "site" / "hookcli-0.dist-info"
    site.mkdir(parents=True)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"{name} = {value}" for name, value in declared["pytest11"].items()]
    (site / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: hookcli\nVersion: 0\n")
    folder = tmp_path / "project" / "tests"
    folder.mkdir(parents=True)
    (folder / "net.py").write_text(NET)
    (folder / "checks.yaml").write_text(CHECKS)

    def run(text, *flags, real=False):
        (folder / "test_it.py").write_text(text)
        path = [str(site.parent), str(ROOT), str(folder)]
        arguments = ["-p", "no:cacheprovider", "-W", "error", *flags]
        if not real:  # in a fork that has torch already, whose path is that of PYTHONPATH
            main = tmp_path / "main.py"
            main.write_text(MAIN.format(path=path, arguments=arguments))
            return run_python(main, cwd=folder.parent, COLUMNS="100")
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=folder.parent,
            env={**env, "PYTHONPATH": os.pathsep.join(path), "COLUMNS": "100"},
            capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    return run


def test_a_model_that_keeps_its_checks_passes(inner):
    done = inner(
        "def test_net(hookcli_check):\n"
        "    from net import Net\n"
        "    report = hookcli_check(Net(), 'checks.yaml')\n"
        "    assert report.passed and len(report.checks) == 7\n"
        "def test_by_name(hookcli_check):\n"
        "    hookcli_check('net.py:Net', 'checks.yaml', rules=['output_shape', 'finite'])\n"
        "def test_safe_set(hookcli_check):\n"
        "    import torch\n"
        "    from net import Net\n"
        "    hookcli_check(Net(3), inputs=torch.ones(2, 4))\n"
    )
    assert done.status == 0, done.out + done.err
    assert "3 passed" in done.out


def test_findings_are_the_message_and_no_traceback_is_shown(inner):
    done = inner(
        "def test_net(hookcli_check):\n"
        "    from net import Net\n"
        "    hookcli_check(Net(classes=9), 'checks.yaml')\n"
    )
    assert done.status == 1
    failure = done.out.partition("FAILURES")[2].partition("short test summary")[0]
    lines = [line for line in failure.splitlines() if not line.strip().startswith(("_", "="))]
    assert lines[:3] == [
        "Net: FAILED: 1 failed, 6 passed",
        "",
        "fail: output_shape, the model: output of the model (Net) has shape [2, 9]: dimension 1 is "
        "9, expected 10",
    ]
    assert lines[3].startswith("  --> ")
    assert "net.py:" in lines[3]
    assert len(lines) == 4
    assert "Traceback" not in done.out
    assert "hookcli/" not in done.out


def test_what_cannot_be_judged_is_told_in_three_lines(inner):
    done = inner(
        "def test_config(hookcli_check):\n"
        "    from net import Net\n"
        "    hookcli_check(Net(), [{'rule': 'finit'}])\n"
        "def test_file(hookcli_check):\n"
        "    from net import Net\n"
        "    hookcli_check(Net(), 'nowhere.yaml')\n"
        "def test_batch(hookcli_check):\n"
        "    from net import Net\n"
        "    hookcli_check(Net())\n"
        "def test_source(hookcli_check):\n"
        "    hookcli_check('net.py:Nut')\n"
    )
    assert done.status == 1
    for line in (
        "error: unknown rule 'finit'", "hint: try `finite`",
        "error: file not found: nowhere.yaml", "error: Net declares no input",
        "error: 'Nut' not found in ", "net.py:Net`",
    ):  # fmt: skip
        assert line in done.out, done.out
    assert "Traceback" not in done.out
    assert "During handling" not in done.out
    assert "4 failed" in done.out


def test_collecting_imports_no_torch_and_nothing_of_hookcli_but_the_plugin(inner):
    done = inner(
        "import sys\n"
        "assert 'torch' not in sys.modules\n"
        "FOUND = {name for name in sys.modules if name.startswith('hookcli')}\n"
        "assert FOUND == {'hookcli', 'hookcli.pytest_plugin'}, FOUND\n"
        "def test_without(): assert 'torch' not in sys.modules\n"
        "def test_fixture_alone(hookcli_check): assert 'torch' not in sys.modules\n",
        real=True,
    )
    assert done.status == 0, done.out + done.err


def test_it_runs_with_xdist(inner):
    pytest.importorskip("xdist")
    done = inner(
        "import pytest\n"
        "@pytest.mark.parametrize('classes', [9, 10, 11])\n"
        "def test_net(hookcli_check, classes):\n"
        "    from net import Net\n"
        "    hookcli_check(Net(classes), 'checks.yaml')\n",
        "-n", "1",
        real=True,
    )  # fmt: skip
    assert "2 failed, 1 passed" in done.out, done.out + done.err
    assert "dimension 1 is 11, expected 10" in done.out


def test_the_fixture_is_listed_with_what_it_does(inner):
    done = inner("", "--fixtures", "-q")
    assert 'hookcli_check(model, "checks.yaml")' in done.out


def test_a_plan_of_a_module_in_memory_is_refused_with_the_way_out(inner):
    done = inner(
        "from net import Net\n"
        "def test_net(hookcli_check):\n"
        "    plan = {'rule': 'parallel_equal', 'plan': 'tests/net.py:Net', 'mesh': 'tp:2'}\n"
        "    hookcli_check(Net(), [plan], inputs=None)\n"
    )
    assert done.status == 1
    assert "error: rule parallel_equal starts processes, and requires a model by name" in done.out
    assert "hint: pass a string such as `net.py:Net` instead of a module" in done.out
