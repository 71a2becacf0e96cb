"""A signal whose handler raises comes while a hook of hookcli runs, at any of its instructions.

What the handler raises is the script's. HOOKCLI_TEST_MOMENTS=1 is each moment of
tests/moments.py; the default is one in 1,500.
"""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.conftest import TRACED
from tests.moments import sender

EVERY = int(os.environ.get("HOOKCLI_TEST_MOMENTS", "1500"))
SCRIPT = (
    sender("training", "engine", "hooks", "models")
    + """\
import torch
from torch import nn

def handle(*_):
    raise TimeoutError("of the script")

signal.signal(signal.SIGALRM, handle)
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)

def step():
    optimizer.zero_grad()
    model(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()

step()
sys.settrace(trace)
for _ in range(3):
    try:
        step()
    except TimeoutError:
        print("caught", flush=True)
sys.settrace(None)
step()
print("trained", flush=True)
"""
)


@pytest.mark.skipif(TRACED, reason="coverage.py traces too")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="calls of older Pythons have other names")
@pytest.mark.parametrize("name", ["SIGALRM", "SIGINT"])
def test_what_a_handler_raises_is_the_scripts(name, cli, tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    moment, wrong = 1 + EVERY // 3, []
    while True:
        out = tmp_path / f"{moment}.json"
        ran = cli("run", "-q", "-f", f"json={out}", "--steps", "all", "s.py", name, str(moment))
        lines = ran.err.splitlines()
        where = next((line for line in lines if line.startswith("at ")), None)
        if where is None:
            assert (ran.status, ran.out, lines) == (0, "trained\n", [])
            break
        if "Exception ignored in: <generator object" in ran.err:
            moment += 1  # a generator is closed, as by `any`: Python itself ignores what is raised
            continue
        caught = name == "SIGALRM"
        found = [
            ("stdout", ran.out, "caught\ntrained\n" if caught else ""),
            ("error", lines[-1], where if caught else "KeyboardInterrupt"),
            ("hookcli", "/hookcli/" in ran.err.replace(where, ""), False),
            ("ended", out.exists() and json.loads(out.read_text())["script"]["ended"],
             "completed" if caught else "interrupted"),
        ]  # fmt: skip
        wrong += [(moment, where, *one, ran.err) for one in found if one[1] != one[2]]
        moment += EVERY
    assert not wrong, (len(wrong), wrong[:3])
    assert moment > EVERY
