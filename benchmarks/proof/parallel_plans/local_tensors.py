"""`python -m benchmarks.proof.parallel_plans.local_tensors`: the right plans in one process.

LocalTensorMode of torch simulates all ranks in one process, without gloo. For each right plan this
prints whether forward and backward run, and whether the gradients are those of the model.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.proof.parallel_plans.cases import Case, right

HERE = Path(__file__).parent


def outputs_of(model: Any, batch: Any) -> torch.Tensor:
    output = model(**batch) if isinstance(batch, dict) else model(batch)
    return output if isinstance(output, torch.Tensor) else output.logits


def parts_of(tensor: Any) -> list[torch.Tensor]:
    whole = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    parts = getattr(whole, "_local_tensors", None)
    return [whole] if parts is None else list(parts.values())


def run(case: Case, file: str) -> str:
    from torch.distributed._local_tensor import LocalTensorMode
    from torch.testing._internal.distributed.fake_pg import FakeStore

    plan = runpy.run_path(file)
    net = runpy.run_path(str(HERE / "models" / f"{case.model}.py"))
    pairs = [part.split(":") for part in case.mesh.split(",")]
    names, sizes = [name for name, _ in pairs], [int(size) for _, size in pairs]
    ranks = int(torch.tensor(sizes).prod())
    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    torch.manual_seed(0)
    reference, batch = net["build_model"]().eval(), net["example_inputs"]()
    reference_output = outputs_of(reference, batch)
    reference_output.square().sum().backward()
    truth = {name: p.grad for name, p in reference.named_parameters()}
    total = float(torch.stack([g.norm() for g in truth.values()]).norm())
    floor = 1e-2 * total  # smaller gradients may be zero except for rounding
    with LocalTensorMode(ranks):
        mesh = dist.init_device_mesh("cpu", tuple(sizes), mesh_dim_names=tuple(names))
        model = net["build_model"]().eval()
        model.load_state_dict(reference.state_dict())
        model = plan["apply"](model, mesh)
        output = outputs_of(model, batch)
        output.square().sum().backward()
        worst = 0.0
        for name, parameter in model.named_parameters():
            other = truth[name.removeprefix("module.")]
            for part in parts_of(parameter.grad):
                worst = max(worst, float((part - other).norm() / other.norm().clamp_min(floor)))
    return "equal" if worst < 1e-4 else f"differs by {worst:.3g}"


def main() -> None:
    if len(sys.argv) > 1:
        case = list(right())[int(sys.argv[1])]
        print(run(case, sys.argv[2]))
        return
    for number, case in enumerate(right()):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "plan.py"
            file.write_text(case.source())
            started = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", __spec__.name, str(number), str(file)],
                capture_output=True, text=True, timeout=200,
            )  # fmt: skip
            said = done.stdout.strip() or (done.stderr.strip().splitlines() or ["died"])[-1]
            print(f"{case.model} / {case.name}: {said[:150]} ({time.monotonic() - started:.1f} s)",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
