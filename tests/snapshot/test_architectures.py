"""Ten architectures of transformers, made small, pass their own snapshots."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("transformers")
from benchmarks.proof.small import SMALL, config_of
from hookcli.spec.yaml import flow

NAMES = ["bert", "llama_lm", "t5", "vit", "mixtral"]


def asked(name):
    """What is typed for one: MODEL, its config, its inputs."""
    small = SMALL[name]
    transformers = importlib.import_module("transformers")
    kind = getattr(transformers, small.model).config_class
    config = {"call": f"transformers:{kind.__name__}", "args": config_of(small, kind)}
    inputs = [
        f"{key}={'x'.join(map(str, shape))}" + (f":int64:0..{high}" if high else "")
        for key, shape, high in small.inputs
    ]
    return [
        f"transformers:{small.model}", f"--arg=config={flow(config)}",
        *(f"--input={one}" for one in inputs),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_an_architecture_passes_its_own_snapshot(name, cli, tmp_path):
    done = cli("snapshot", *asked(name), "-o", "checks.yaml")
    assert done.status == 0, done.err
    text = (tmp_path / "checks.yaml").read_text()
    assert len(text.splitlines()) < 250
    done = cli("check", "-c", "checks.yaml", "--fail-on", "warning")
    assert done.status == 0, done.out + done.err + text
    assert done.out.splitlines()[-1].startswith("PASSED: ")
