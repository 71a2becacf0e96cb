"""`-f tensorboard=DIR` on the command line."""

from __future__ import annotations

import os

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.conftest import HEAD

SOURCE = """
class Net(nn.Module):
    example_inputs = (torch.ones(2, 3),)
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
    def forward(self, x):
        return self.fc(x)
"""


@pytest.fixture
def net(tmp_path):
    (tmp_path / "net.py").write_text(HEAD + SOURCE)
    return tmp_path


def test_a_run_and_its_saved_report_give_the_same_scalars(net, cli):
    done = cli("grads", "net.py", "--steps", "2", "-f", "tensorboard=runs/1", "-f", "json=r.json")
    assert (done.status, done.out) == (0, ""), done.err
    assert cli("render", "r.json", "-f", "tensorboard=runs/2").status == 0
    one, two = (EventAccumulator(str(net / "runs" / name)).Reload() for name in "12")
    assert one.Tags() == two.Tags()
    for tag in one.Tags()["scalars"]:
        assert [(e.step, e.value) for e in one.Scalars(tag)] == [
            (e.step, e.value) for e in two.Scalars(tag)
        ]
    [file] = (net / "runs" / "1").iterdir()
    assert file.stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o022))


def test_a_report_on_stdout_and_a_folder_can_be_written_together(net, cli):
    done = cli("check", "net.py", "-f", "table", "-f", "tensorboard=runs")
    assert done.out.splitlines()[-1].startswith("PASSED")
    assert len([*(net / "runs").iterdir()]) == 1


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["-f", "tensorboard"], "format tensorboard writes a folder, not stdout",
         "write `-f tensorboard=DIR`"),
        (["-f", "tensorboard=-"], "format tensorboard writes a folder, not stdout",
         "write `-f tensorboard=DIR`"),
        (["-f", "tensorboard="], "the name of the folder is missing",
         "write `-f tensorboard=DIR`"),
        (["-f", "tensorboard=net.py"], "is not a folder", "choose a folder"),
        (["-f", "tensorboard=net.py/runs"], "is not a folder", "choose a folder"),
        (["-f", "tensorboard=/proc/runs/1"], "cannot write /proc/runs/1", "choose a folder"),
        (["-f", "tensorboard=" + "x" * 300], "cannot write", "choose a folder"),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_written_is_three_lines_and_leaves_nothing(
    arguments, message, hint, net, cli
):
    done = cli("inspect", "net.py", *arguments)
    assert done.status == 2
    said, _, advice = done.error()
    assert message in said
    assert advice.startswith(hint)
    assert [path.name for path in net.iterdir() if path.name != "__pycache__"] == ["net.py"]


def test_a_diff_refuses_the_format(net, cli):
    done = cli("diff", "net.py", "net.py", "-f", "tensorboard=runs")
    assert done.status == 2
    assert done.error()[0] == "diff does not support format 'tensorboard'"
    assert not (net / "runs").exists()
