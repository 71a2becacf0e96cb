"""A forked run gives what a run as a user starts it gives."""

from __future__ import annotations

import re

import pytest

from tests.conftest import SAMPLES, run_cli

MODELS = {
    "speaks.py": "import sys\nprint('out')\nprint('err', file=sys.stderr)\n"
    "model = nn.Linear(4, 2)\n",
    "raises.py": "class M(nn.Module):\n    def forward(self, x):\n        raise ValueError('no')\n",
    "exits.py": "import os\nos._exit(3)\n",
    "dies.py": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "path.py": "import sys\nprint(sys.argv, [p for p in sys.path if p], __name__)\n"
    "model = nn.Linear(len({'a', 'b'}), 2)\n",
    "seeds.py": "model = nn.Linear(4, 2)\nprint(torch.initial_seed(), model.weight, set('hash'))\n",
    "streams.py": "import os, sys\nprint(sys.stdin.read(), os.isatty(0), sys.stdout.encoding)\n"
    "print(sorted(int(f) for f in os.listdir('/proc/self/fd') if int(f) < 3), os.getcwd())\n"
    "print(os.getpid() == os.getsid(0) == os.getpgid(0))\nmodel = nn.Linear(4, 2)\n",
}
SAMPLE = str(SAMPLES / "vae.py")


@pytest.fixture
def folder(tmp_path):
    for name, source in MODELS.items():
        (tmp_path / name).write_text("import torch\nfrom torch import nn\n" + source)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", SAMPLE],
        ["grads", SAMPLE, "--steps", "2"],
        ["trace", SAMPLE, "-f", "tree"],
        ["check", SAMPLE, "-f", "github"],
        ["inspect", "nothing.py"],
        ["inspect", SAMPLE, "--no-such-flag"],
        ["list", "hooks"],
        ["--version"],
        ["render", "-"],
        *(["grads", name, "--input", "f32[2,4]"] for name in MODELS),
    ],
    ids=lambda command: "-".join(command)[:40],
)
def test_both_ways_give_the_same(folder, command):
    text = '{"schema": "hookcli.report/7"}'
    forked = run_cli(*command, cwd=folder, stdin=text)
    real = run_cli(*command, cwd=folder, stdin=text, real=True)
    assert (forked.status, _steady(forked.out)) == (real.status, _steady(real.out))
    assert _steady(forked.err) == _steady(real.err)


def _steady(text):
    return re.sub(r"\b\d+\.\d+ s\b", "SECONDS", text)
