"""DistributedDataParallel by the command line against the same by hand, and against one process."""

from __future__ import annotations

import json

import pytest
import torch

from tests.distributed.byhand import load
from tests.distributed.conftest import NETS

CONFIG = """
model: NETS:Net
inputs: ["NETS:batch"]
run:
  loss: NETS:loss
  steps: 3
  distributed: {nproc: 2, bucket_cap_mb: 0.001}
hooks: [{kind: ddp_comm, do: [{comm: HOOK}]}]
"""


def of_step(report, step):
    return [row for row in report["distributed"]["buckets"] if row["step"] == step]


@pytest.mark.parametrize(
    ("hook", "theirs"), [("allreduce", "allreduce_hook"), ("fp16_compress", "fp16_compress_hook")]
)
def test_buckets_losses_and_gradients_are_those_of_the_same_by_hand(ranks, by_hand, hook, theirs):
    done, report = ranks("grads", CONFIG.replace("HOOK", hook))
    assert done.status == 0, done.err
    hand = by_hand(2, 3, cap="0.001", hook=theirs)
    found = report["distributed"]
    assert (found["backend"], found["parallel"], found["hook"]) == ("gloo", "ddp", hook)
    assert report["run"]["world_size"] == 2
    for step in range(3):
        rows = of_step(report, step)
        seen = [one[step]["buckets"] for one in hand]
        assert [(r["index"], r["last"], r["parameters"]) for r in rows] == [
            (r["index"], r["last"], r["parameters"]) for r in seen[0]
        ]
        for place, row in enumerate(rows):
            assert row["order"] == place
            assert row["norms_before"] == pytest.approx([s[place]["before"] for s in seen])
            assert row["norm_after"] == pytest.approx(seen[0][place]["after"])
        assert report["run"]["losses"][step] == pytest.approx(hand[0][step]["loss"])
        assert found["ranks"][0]["losses"][step] == pytest.approx(hand[1][step]["loss"])
    assert found["rebuilt"] == 1
    for row in report["parameters"]:
        norm, mean, least = hand[0][2]["grads"][row["name"]]
        assert row["grad"]["norm"] == pytest.approx(norm, rel=1e-5)
        assert row["grad"]["mean"] == pytest.approx(mean, rel=1e-4, abs=1e-9)
        assert row["grad"]["min"] == pytest.approx(least, rel=1e-5)
    assert found["ranks"][0]["differs"] == []


def joined(world):
    """The gradients of one process that has the batches of all ranks."""
    nets = load()
    torch.manual_seed(0)
    net = nets.Net()
    batches = [
        torch.randn(4, 16, generator=torch.Generator().manual_seed(100 + r)) for r in range(world)
    ]
    nets.loss(net(torch.cat(batches))).backward()
    return {name: p.grad for name, p in net.named_parameters()}


@pytest.mark.parametrize(
    ("world", "parallel"), [(2, "ddp"), (2, "fsdp"), pytest.param(4, "ddp", marks=pytest.mark.slow)]
)
def test_gradients_are_those_of_the_joined_batch(cli, tmp_path, world, parallel):
    out = tmp_path / "report.json"
    done = cli("grads", f"{NETS}:Net", "-i", f"{NETS}:batch", "--loss", f"{NETS}:loss", "--nproc",
               world, "--parallel", parallel, "-o", out, "-f", "json")  # fmt: skip
    assert done.status == 0, done.err
    report = json.loads(out.read_text())
    whole = joined(world)
    assert [row["name"] for row in report["parameters"]] == list(whole)
    for row in report["parameters"]:
        grad = whole[row["name"]]
        assert row["status"] == "ok"
        assert row["shape"] == list(grad.shape)
        for key, value in (("norm", grad.norm()), ("min", grad.min()), ("max", grad.max())):
            assert row["grad"][key] == pytest.approx(value.item(), rel=1e-5, abs=1e-8)
    assert [row["type"] for row in report["layers"]] == ["Net", *["Linear"] * 4]
    assert all(row["place"].startswith(str(NETS)) for row in report["layers"])
    if parallel == "fsdp":
        units = report["distributed"]["units"]
        assert [row["module"] for row in units] == ["", "body.0", "body.1", "body.2"]
        assert all(row["shard_bytes"] * 2 == row["bytes"] for row in units)
    others = sorted(path.name for path in tmp_path.glob("report.rank*.json"))
    assert others == [f"report.rank{rank}.json" for rank in range(1, world)]
    one = json.loads((tmp_path / "report.rank1.json").read_text())
    assert one["run"]["losses"] == report["distributed"]["ranks"][0]["losses"]


def test_drawn_batches_are_other_ones_on_each_rank_and_the_same_again(ranks):
    config = "model: NETS:Net\nrun: {distributed: {nproc: 2}}\n"
    (_, first), (_, again) = (ranks("grads", config) for _ in range(2))
    assert first["run"]["losses"] != first["distributed"]["ranks"][0]["losses"]
    for report in (first, again):
        report.pop("environment")
    assert first == again


def test_a_thousand_buckets_are_reported_whole(ranks):
    config = (
        "model: NETS:Many\ninputs: [2x8]\n"
        "run: {steps: 2, distributed: {nproc: 2, bucket_cap_mb: 0.0001}}\n"
    )
    done, report = ranks("grads", config)
    assert done.status == 0, done.err
    rows = of_step(report, 1)
    assert len(rows) == 1000
    assert sorted(row["index"] for row in rows) == list(range(1000))
    held = [name for row in rows for name in row["parameters"]]
    assert sorted(held) == sorted(row["name"] for row in report["parameters"])
    assert [row["last"] for row in rows].count(True) == 1
