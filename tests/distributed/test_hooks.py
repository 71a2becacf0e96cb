"""Communication hooks: what each makes of the gradients, and what becomes of wrong ones."""

from __future__ import annotations

import pytest
import torch

from tests.distributed.conftest import HOOKS

CONFIG = """
model: NETS:Net
inputs: ["NETS:batch"]
run: {loss: NETS:loss, steps: STEPS, distributed: {nproc: 2}}
hooks:
  - kind: ddp_comm
    do: [DO]
"""


def config(do, steps=1):
    return CONFIG.replace("DO", do).replace("STEPS", str(steps))


@pytest.mark.parametrize(
    ("do", "steps", "error", "sent"),
    [
        ("{comm: {name: power_sgd, start_powerSGD_iter: 2}}", 3, (1e-3, 1), (0.01, 0.5)),
        ("{comm: {name: fp16_compress_wrapper, around: {name: power_sgd, start_powerSGD_iter: 2}}}",
         3, (1e-3, 1), (0.01, 0.25)),
        ("{comm: {name: post_local_sgd, start_localSGD_iter: 5}}", 1, (0, 1e-6), (1, 1)),
        ("{comm: noop}", 1, (0.05, 2), (0, 0)),
        ("{call: HOOKS:encode_and_decode}", 1, (0.02, 2), (0.25, 0.25)),
        ("{call: {fn: HOOKS:encode_and_decode, state: {call: HOOKS:State, args: {levels: 300}}}}",
         1, (1e-4, 0.1), (0.25, 0.25)),
        ("{comm: {name: fp16_compress_wrapper, around: {call: HOOKS:sums}}}", 1, (0.9, 1.1),
         (0.5, 0.5)),
    ],
)  # fmt: skip
def test_what_a_hook_costs_and_gives(ranks, do, steps, error, sent):
    done, report = ranks("grads", config(do, steps))
    assert done.status == 0, done.err
    row = report["distributed"]["buckets"][-1]
    assert row["step"] == steps - 1
    assert error[0] <= row["error"] <= error[1]
    assert sent[0] <= row["wire_bytes"] / row["plain_bytes"] <= sent[1]


FAILED = f"failed with torch {torch.__version__} and gloo"


@pytest.mark.parametrize(
    ("do", "what", "line"),
    [
        ("{comm: bf16_compress}", f"bf16_compress {FAILED}: TypeError: BF16", 7),
        ("{comm: quantize_per_tensor}", f"quantize_per_tensor {FAILED}: IndexError", 7),
        ("{comm: {name: bf16_compress_wrapper, around: allreduce}}",
         f"bf16_compress_wrapper around allreduce {FAILED}", 7),
    ],
)  # fmt: skip
def test_what_this_torch_cannot_run_is_said_before_the_run(ranks, do, what, line):
    done, report = ranks("grads", config(do))
    said, place, _ = done.error()
    assert (done.status, report) == (2, None)
    assert said.startswith(what)
    assert "running the callback" not in said
    assert place.endswith(f"ranks.yaml:{line}: hooks[0].do[0]")


@pytest.mark.parametrize(
    ("name", "what", "place"),
    [
        ("nothing", "must return a Future, got NoneType", "hooks[0]"),
        ("tensor", "must return a Future, got Tensor", "hooks[0]"),
        ("double", "Future must contain a tensor of the bucket's shape and dtype", "hooks[0]"),
        ("raises_later", "KeyError in backward: all ranks: 'in the callback'", "HOOKS"),
    ],
)
def test_a_wrong_hook_is_named_and_kills_nobody(ranks, name, what, place):
    done, report = ranks("grads", config(f"{{call: HOOKS:{name}}}"))
    said, where, _ = done.error()
    assert done.status == 3
    assert what in said
    source = HOOKS.read_text().splitlines()
    line = next((i for i, text in enumerate(source, 1) if "in the callback" in text), 0)
    assert where.endswith(place if place != "HOOKS" else f"hooks.py:{line}")
    assert report["status"] == "partial"
