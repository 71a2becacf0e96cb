"""What a newcomer meets: short answers on stderr, and hints that fit."""

from __future__ import annotations

import pytest

from hookcli.known_failures import hint_for, is_network_failure
from tests.conftest import HEAD, run_cli

NET = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
NET += "        self.fc = nn.Linear(3, 2)\n        self.idle = nn.Linear(2, 2)\n"
NET += "    def forward(self, x): return self.fc(x)\n"


@pytest.fixture
def here(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + NET)
    return tmp_path


def test_the_verdict_is_on_stderr_if_all_formats_are_files(here):
    result = run_cli("check", "net.py", "-f", "json=out.json", cwd=here)
    assert result.out == ""
    assert result.err.splitlines()[-1].startswith("note: PASSED: ")
    assert run_cli("check", "net.py", "-f", "json=out.json", "-q", cwd=here).err == ""


def test_a_new_baseline_is_counted_and_does_not_fail(here):
    options = ["--fail-on", "warning", "--baseline", "known.json"]
    written = run_cli("check", "net.py", *options, "--update-baseline", cwd=here)
    assert written.status == 0
    assert written.out.splitlines()[-1].startswith("PASSED")
    count = (here / "known.json").read_text().count('"fingerprint"')
    assert count > 0
    assert f"note: wrote {count} finding" in written.err
    assert run_cli("check", "net.py", *options, cwd=here).status == 0


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["render", "r.json", "--python", "x"], "omit it with render"),
        (["inspect", "net.py?python=/usr/bin/python3"], "pass `--python /usr/bin/python3`"),
        (["inspect", "net.py", "--argv", "'open"], "close each quotation"),
        (["inspect", "net.py", "--clolumns", "layer"], "try `--columns`"),
    ],
)
def test_hints_fit_the_mistake(here, arguments, hint):
    result = run_cli(*arguments, cwd=here)
    assert result.status == 2
    assert result.error()[2].startswith(hint)


def test_argv_reaches_the_script(here):
    (here / "script.py").write_text(
        "import sys\nfrom torch import nn\nmodel = nn.Linear(3, int(sys.argv[1]))\n"
    )
    result = run_cli("inspect", "script.py", "--argv", "7", "-f", "json", cwd=here)
    assert result.report["layers"][0]["outputs"][0]["shape"] == [2, 7]


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", "replace `.cuda()`"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "replace `.cuda()`"),
        ("AttributeError: cannot assign module before Module.__init__() call", "call `super()"),
        ("ModuleNotFoundError: No module named 'cv2.dnn'", "install opencv-python in"),
        ("RuntimeError: Expected all tensors to be on the same device, but", "create tensors on"),
        ("OSError: We couldn't connect to 'https://huggingface.co' to load", "fetch the files"),
        ("URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", "fetch the"),
    ],
)
def test_failures_of_known_cause_have_a_hint(error, hint):
    assert (hint_for(error) or "").startswith(hint)


@pytest.mark.parametrize("error", ["RuntimeError: shapes differ", "ValueError: connect 4 wins"])
def test_other_failures_have_none(error):
    assert hint_for(error) is None
    assert not is_network_failure(error)
