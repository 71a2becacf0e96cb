"""Ranks that raise, hang, die or disagree: what is said, and that nothing stays behind."""

from __future__ import annotations

import json
import threading

import pytest

from tests.conftest import forks, run_cli
from tests.distributed.conftest import NETS

CONFIG = """
model: NETS:Wrong
inputs: ["NETS:batch"]
run: {loss: NETS:loss, steps: 3, timeout: TIMEOUT, distributed: {nproc: 2}}
"""


def line_of(text):
    lines = NETS.read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(
    ("what", "said", "place"),
    [
        ("raise", "ValueError in forward, in 'bad' (Bad): rank 1, step 1: rank 1 raises",
         "rank 1 raises"),
        ("kill", "rank 1, step 1: the process was killed", None),
        ("exit", "rank 1, step 1: the process exited with status 7", None),
        ("exit while built", "rank 1: the process exited with status 7, in build", None),
        ("exit at import", "rank 1: the process exited with status 7, in import", None),
        ("shape", "the ranks built different models: first.weight is [17, 16] float32 on rank 1, "
         "but [16, 16] float32 on rank 0", None),
        ("more", "the ranks built different models: rank 1 has extra.weight, but rank 0 has "
         "last.weight", None),
        ("build", "rank 1: cannot build Wrong: RuntimeError: rank 1 cannot be built",
         "rank 1 cannot be built"),
    ],
)  # fmt: skip
def test_a_rank_that_fails_is_named_with_its_step_and_layer(ranks, what, said, place):
    done, _ = ranks("grads", CONFIG.replace("TIMEOUT", "100"), WHAT=what)
    message, where, _ = done.error()
    assert done.status == 3
    assert message.startswith(said) or said in message
    if place is not None:
        assert where.endswith(f"nets.py:{line_of(place)}")
    assert forks().left_over() == []


def test_a_rank_that_hangs_ends_with_all_others_at_the_timeout(ranks, tmp_path):
    for timeout in ("5", "60"):  # on a busy machine the ranks may need five seconds to begin
        done, report = ranks("grads", CONFIG.replace("TIMEOUT", timeout), WHAT="hang")
        message, where, _ = done.error()
        if "in forward, in 'bad'" in message:
            break
    assert done.status == 3
    where_others = "rank 1, step 1 (meanwhile rank 0 in backward)"
    assert message.startswith(f"{where_others}: the run took longer than {timeout} s")
    assert "in forward, in 'bad'" in message
    assert where.endswith(f"nets.py:{line_of('time.sleep(600)')}")
    assert forks().left_over() == []
    left = json.loads((tmp_path / "report.rank1.json").read_text())  # a dead one leaves its file
    assert left["error"]["layer"] == "bad"
    assert report["status"] == left["status"] == "partial"


def test_a_parameter_that_one_rank_skips_is_named_by_name_and_rank(ranks):
    done, report = ranks("grads", CONFIG.replace("TIMEOUT", "100"), WHAT="skip")
    assert done.status == 0, done.err
    assert report["distributed"]["unreached"] == [
        {"parameter": "last.weight", "ranks": [1]}, {"parameter": "last.bias", "ranks": [1]},
    ]  # fmt: skip
    assert report["distributed"]["options"]["find_unused_parameters"] is True
    assert "no gradient: on rank 1: last.weight, last.bias" in done.out
    assert "rank 1: last did not run, but ran on rank 0" in done.out


@pytest.mark.parametrize("more", ["find_unused_parameters: false", "parallel: fsdp"])
def test_what_would_wait_for_ever_is_refused(ranks, more):
    text = CONFIG.replace("TIMEOUT", "100").replace("nproc: 2", f"nproc: 2, {more}")
    done, _ = ranks("grads", text, WHAT="skip")
    message, where, _ = done.error()
    assert done.status == 3
    assert message.startswith("the loss does not reach last.weight on rank 1, last.bias on rank 1")
    assert "run.distributed" in where


def test_two_runs_side_by_side_do_not_meet(tmp_path):
    found = {}

    def run(world):
        out = tmp_path / f"{world}.json"
        found[world] = run_cli("grads", f"{NETS}:Net", "-i", f"{NETS}:batch", "--nproc", world,
                               "-f", "json", "-o", out, real=True)  # fmt: skip

    threads = [threading.Thread(target=run, args=(world,)) for world in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for world, done in found.items():
        assert done.status == 0, done.err
        report = json.loads((tmp_path / f"{world}.json").read_text())
        assert report["distributed"]["world_size"] == world
        assert len(report["distributed"]["buckets"][0]["norms_before"]) == world


@pytest.mark.parametrize(
    ("name", "parallel", "said"),
    [
        (
            "Lazy",
            "ddp",
            "DistributedDataParallel does not support the model: Modules with uninitialized",
        ),
        ("Lazy", "fsdp", "the model cannot be sharded: it has uninitialized parameters"),
        ("Empty", "fsdp", "the model cannot be sharded: it has no parameters"),
    ],
)
def test_a_model_that_cannot_be_wrapped_is_refused(ranks, name, parallel, said):
    config = f"model: NETS:{name}\ninputs: [2x4]\n"
    done, _ = ranks("grads", f"{config}run: {{distributed: {{nproc: 2, parallel: {parallel}}}}}\n")
    message, _, _ = done.error()
    assert done.status == 3
    assert said in message
