"""What the operators in a scripted module's graphs cost: `python benchmarks/scripted_cost.py`.

A bare scripted step and one that tells of its calls alternate in one process, forward and backward
each; medians of the ratios, of processor time. Then twenty runs of one instrumented module: the
time of the last five beside the first five, and by how much the process grew.
"""

from __future__ import annotations

import io
import os
import resource
import sys
import time
import warnings
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")

import torch  # noqa: E402

from hookcli.models.torchscript.model import ScriptedModel  # noqa: E402
from hookcli.models.torchscript.tapped import tap  # noqa: E402

LIMIT, WARM, ROUNDS = 1.15, 4, 15


def copies(module):
    """Two independent loads of one file: bare, and told."""
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    found = []
    for _ in range(2):
        buffer.seek(0)
        found.append(torch.jit.load(buffer))
    tap(found[1], lambda _: False)
    return found


def step(module, batch):
    output = module(*batch)
    output = output if isinstance(output, torch.Tensor) else output[0]
    output.float().mean().backward()


def seconds(module, batch):
    started = time.process_time()
    step(module, batch)
    return time.process_time() - started


def models():
    from benchmarks.models import gpt2, resnet50

    yield (
        "resnet50, scripted, 4x3x128x128",
        torch.jit.script(resnet50.build_model()),
        (torch.randn(4, 3, 128, 128),),
    )
    model = gpt2.build_model()
    model.config.use_cache, model.config.return_dict = False, False
    batch = (torch.randint(0, 50257, (2, 64)),)
    yield (
        "gpt2, traced, 2x64",
        torch.jit.trace(model, batch, strict=False, check_trace=False),
        batch,
    )
    chain = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(300)))
    yield "300 layers of 8x8, scripted", torch.jit.script(chain), (torch.randn(2, 8),)


def main():
    for name, module, batch in models():
        bare, told = copies(module)
        calls = [0]

        def enter(*_, calls=calls):
            calls[0] += 1

        with ScriptedModel(told).observe(enter, lambda *_: None):
            for _ in range(WARM):
                step(bare, batch)
                step(told, batch)
            pairs = [(seconds(bare, batch), seconds(told, batch)) for _ in range(ROUNDS)]
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            times = [seconds(told, batch) for _ in range(20)]
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        ratio = median(b / a for a, b in pairs)
        over = median(b - a for a, b in pairs)
        each = 1e6 * over / (calls[0] / (WARM + ROUNDS + 20))
        slower = median(times[-5:]) / median(times[:5])
        verdict = "" if ratio <= LIMIT else f"  above {LIMIT}"
        print(
            f"{name}: {ratio:.3f} of the bare step, {each:.1f} µs a call{verdict}; "
            f"20 runs: the last {slower:.2f} of the first, {grown:.1f} MB grown",
            flush=True,
        )


if __name__ == "__main__":
    main()
