"""The same model and seed give the same bytes of JSON, and so the same findings, every time."""

from __future__ import annotations

import dataclasses
import gc
import os

import pytest
import torch

from hookcli.report.encode import to_json
from tests.conftest import SAMPLES, run_cli
from tests.rules.judging import HERE, judge

TIMES = 4
MODELS = [
    *(str(SAMPLES / f"{name}.py") for name in ("moe", "vae")),
    *(
        f"{HERE / 'models.py'}:{name}"
        for name in ("AlwaysDropout", "UnusedDropout", "OwnGenerator", "Counts", "ZeroByZero",
                     "Centred", "UnusedBlock", "Contrasts")
    ),
]  # fmt: skip
SETS = '''
example_inputs = ({"b": torch.ones(2, 4), "a": torch.zeros(2, 4)},)
class Net(nn.Module):
    """Built, run and returned in the order of sets and of dicts; random in each mode."""
    def __init__(self):
        super().__init__()
        for name in {"query", "key", "value", "gate", "out", "norm"}:
            self.add_module(name, nn.Linear(4, 4))
        self.drop = nn.Dropout(0.5)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
    def forward(self, x):
        x = self.drop(sum(x[key] for key in set(x)) + torch.randn(2, 4))
        made = {self._modules[name](x) for name in {"query", "key", "value"}}
        chosen = self.experts[int(torch.randint(4, ()))](x)
        return {"all": made, "chosen": chosen, "names": frozenset(self._modules), "self": object()}
'''


def text_of(source):
    report = judge(source)
    steady = dataclasses.replace(report.environment, seconds=0.0)
    return to_json(dataclasses.replace(report, environment=steady))


@pytest.fixture
def one_thread():
    """Threads that wait for each other on a machine with other work take most of the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("source", MODELS)
def test_the_same_bytes_each_time(source, one_thread):
    first, junk = text_of(source), []
    for time in range(TIMES - 1):
        junk.append([object() for _ in range(1000 * time)])  # addresses move
        gc.collect(time % 3)
        assert text_of(source) == first


def test_sets_and_dicts_have_one_order_in_every_process(model_file):
    path = model_file(SETS)
    texts = {checked(path, PYTHONHASHSEED=seed) for seed in ("random", "random", "")}
    assert len(texts) == 1
    (text,) = texts
    assert " at 0x" not in text


def test_the_hash_seed_of_the_command_changes_nothing(cli):
    for name in ("moe", "tiny_gpt"):
        path = SAMPLES / f"{name}.py"
        assert len({checked(path, PYTHONHASHSEED=seed) for seed in ("1", "2")}) == 1


@pytest.mark.parametrize("threads", ["1", "2"])
def test_processes_with_as_many_threads_agree(threads):
    path = SAMPLES / "unet.py"
    assert len({checked(path, OMP_NUM_THREADS=threads) for _ in range(2)}) == 1


def test_the_findings_do_not_depend_on_threads_or_folder(tmp_path):
    path = SAMPLES / "detector.py"
    one, two = (findings(path, OMP_NUM_THREADS=threads) for threads in "12")
    assert one == two
    assert findings(path, cwd=tmp_path) == one


def report_of(path, **more):
    more.setdefault("cwd", os.sep)
    done = run_cli("check", str(path), "-f", "json", **more)
    assert done.status == 0, done.err
    return done


def checked(path, **more):
    """The JSON without the one line that may differ."""
    lines = report_of(path, **more).out.splitlines()
    kept = [line for line in lines if not line.startswith('  "environment": ')]
    assert len(kept) == len(lines) - 1
    return "\n".join(kept)


def findings(path, **more):
    rows = report_of(path, **more).report["checks"]
    return [(row["rule"], row["target"], row["status"], row["fingerprint"]) for row in rows]
