"""--data-only on a command line: a configuration may name data, the user may name code."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.models import made


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(folder, text):
    (folder / "c.yaml").write_text(text)
    return ("inspect", "-c", "c.yaml", "--data-only")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_model_in_the_configuration_must_be_data(folder, line, asked):
    def said(*more):
        status, _, err = line(*arguments, *more)
        return status, err.splitlines()[0]

    arguments = command(folder, "model: net.py\n")
    assert said() == (2, "error: --data-only does not allow code, and net.py names a Python model")
    torch.save(nn.Linear(2, 2), folder / "m.pt")
    arguments = command(folder, "model: m.pt\n")
    assert said("--trust")[0] == 2
    made.script(folder / "t.pt", nn.Linear(2, 2))
    assert asked(*command(folder, "model: t.pt\n")).model.source.endswith("t.pt")
    made.exported(folder / "e.pt2", nn.Linear(2, 2), torch.ones(1, 2))
    arguments = command(folder, "model: e.pt2\n")
    assert asked(*arguments).model.source.endswith("e.pt2")
    assert "which --trust allows to run code" in said("--trust")[1]


def test_what_the_command_line_names_is_the_user_s_own(folder, asked):
    text = "model: other.py\nhooks:\n  - {kind: forward, at: fc, do: stats}\n"
    (folder / "other.py").write_text("")
    spec = asked(*command(folder, text), "net.py", "-i", "net.py:batch", "--loss", "net.py:loss")
    assert (spec.model.source, spec.run.loss) == ("net.py", "net.py:loss")
