"""What hookcli's hooks add to a training step, an event, and memory.

    python benchmarks/hooks_cost.py [--rounds N] [--threads N] [--only steps,peak,events,stream]
                                    [--model NAME]

Hooked and bare steps alternate in one process, so that whatever else the machine does slows both;
medians, of processor time. Peaks are of a process each. An event is told beside an empty Python
hook in its place: what the hook does (both beside the same run without it), and all that the
recording adds, which watches every call of every module whether a hook stands on it or not.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
from torch import nn  # noqa: E402

import hookcli  # noqa: E402
from hookcli.api import printable  # noqa: E402
from hookcli.config.hooks import ActionSpec, HookSpec  # noqa: E402
from hookcli.config.selectors import selector_of  # noqa: E402
from hookcli.config.spec import ModelSpec, Spec  # noqa: E402
from hookcli.run.loop import Attached  # noqa: E402

LIMITS = {"trace": 1.03, "grads": 1.10}
PEAK, EVENT, STREAM = 1.03, 4.0, 200.0  # times; microseconds; megabytes
CHAIN = 1000

# In one heap, how the pieces happen to lie moves a peak by a large tensor, with hooks or without.
# Where glibc maps each of more than a megabyte by itself, a peak is what is held.
ALLOCATORS = {
    "in one heap": {},
    "each large tensor mapped": {"MALLOC_MMAP_THRESHOLD_": "1000000"},
}


def resnet50():
    from benchmarks.models.resnet50 import build_model

    return build_model(), (torch.randn(8, 3, 224, 224),)


def gpt2():
    from benchmarks.models.gpt2 import build_model

    return build_model(), (torch.randint(0, 50257, (2, 256)),)


def chain():
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(CHAIN))), (torch.randn(2, 8),)


MODELS = {"resnet50 8x3x224x224": resnet50, "gpt2 2x256": gpt2}


def step(model, batch):
    """Forward, backward; the gradients are dropped."""
    output = model(*batch)
    output = output if isinstance(output, torch.Tensor) else output[0]
    output.float().mean().backward()
    model.zero_grad(set_to_none=True)


def seconds(work, clock=time.perf_counter):
    started = clock()
    work()
    return clock() - started


def processor(work):
    """Seconds of this thread: small work, on a machine that others use as well."""
    return seconds(work, time.thread_time)


def steps(name, preset, rounds):
    """Processor seconds of a step, bare and with a preset: medians, and quartiles of the ratios.

    Now the one comes first and now the other; and bare beside bare, which tells the noise.
    """
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    step(model, batch)

    def bare():
        return seconds(lambda: step(model, batch), time.process_time)

    def hooked():
        with hookcli.attach(model, command=preset):
            return bare()

    ones, others, again = [], [], []
    for number in range(rounds):
        if number % 2:
            ones.append(bare())
            others.append(hooked())
        else:
            others.append(hooked())
            ones.append(bare())
        again.append(bare())
    ratios = [other / one for other, one in zip(others, ones, strict=True)]
    noise = [other / one for other, one in zip(again, ones, strict=True)]
    return median(ones), median(others), quantiles(ratios), quantiles(noise)


def peak(name, preset):
    """Peak megabytes of this process after three steps."""
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    step(model, batch)
    if preset == "bare":
        for _ in range(3):
            step(model, batch)
    else:
        with hookcli.attach(model, command=preset) as recording:
            for _ in range(3):
                step(model, batch)
                recording.step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def apart(*arguments, **env):
    """What this script says in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
    )
    return json.loads(done.stdout)


def attached(model, kinds, stream=None):
    """hookcli with `record` for these (kind, at)s."""
    hooks = tuple(
        HookSpec(i, kind, selector_of(at), actions=(ActionSpec("record"),))
        for i, (kind, at) in enumerate(kinds)
    )
    spec = Spec("trace", ModelSpec(""), hooks=hooks, stream=stream)
    return Attached(model, spec, optimizers=(), scaler=None, shown=printable)


KINDS = {
    "all of trace's preset": [
        ("forward_pre", "*"),
        ("forward", "*"),
        ("tensor", "*:output"),
        ("post_accumulate_grad", "*"),
    ],
    "forward": [("forward", "*")],
    "forward_pre and forward": [("forward_pre", "*"), ("forward", "*")],
    "tensor at outputs": [("tensor", "*:output")],
    "tensor at parameters": [("tensor", "*")],
    "post_accumulate_grad": [("post_accumulate_grad", "*")],
}


def empty_hooks(model, kinds):
    """The same places with an empty Python function each: the handles."""

    def nothing(*_):
        return None

    def onto_output(_module, _args, output):
        output.register_hook(nothing)

    handles = []
    for kind, at in kinds:
        for module in model.modules():
            if kind == "forward_pre":
                handles.append(module.register_forward_pre_hook(nothing))
            elif kind == "forward":
                handles.append(module.register_forward_hook(nothing))
            elif at == "*:output":
                handles.append(module.register_forward_hook(onto_output))
        for parameter in model.parameters() if at == "*" else ():
            if kind == "tensor":
                handles.append(parameter.register_hook(nothing))
            elif kind == "post_accumulate_grad":
                handles.append(parameter.register_post_accumulate_grad_hook(nothing))
    return handles


def events(name, rounds):
    """Microseconds an event over an empty hook: the hook's own, and with the watching of calls."""
    kinds = KINDS[name]
    model, batch = chain()
    step(model, batch)
    bare, watched, empty, hooked, count = [], [], [], [], 0
    for _ in range(rounds):
        bare.append(processor(lambda: step(model, batch)))
        handles = empty_hooks(model, kinds)
        empty.append(processor(lambda: step(model, batch)))
        for handle in handles:
            handle.remove()
        with attached(model, ()) as recording:
            step(model, batch)
            recording.step()  # the rows are those of the first step
            watched.append(processor(lambda: step(model, batch)))
        with attached(model, kinds) as recording:
            step(model, batch)
            recording.step()
            before = len(recording.events)
            hooked.append(processor(lambda: step(model, batch)))
            count = len(recording.events) - before
    over = median(h - e for h, e in zip(hooked, empty, strict=True))
    acting = median(h - w for h, w in zip(hooked, watched, strict=True))
    nothing = median(e - b for e, b in zip(empty, bare, strict=True))
    return 1e6 * (acting - nothing) / count, 1e6 * over / count


def stream(wanted):
    """(events, megabytes above what the process had before, seconds) of events to a file."""
    model, batch = chain()
    step(model, batch)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "events.jsonl"))
        with attached(model, KINDS["forward_pre and forward"], file) as recording:
            while (count := recording.report().events.count) < wanted:
                for _ in range(20):
                    step(model, batch)
                    recording.step()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return count, after - before, time.perf_counter() - started


def verdict(value, limit):
    return "" if value <= limit else f"  above {limit:g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", default="events,stream,steps,peak")
    parser.add_argument("--model", default="", help="only those whose name begins so")
    parser.add_argument("--peak-of", nargs=2, metavar=("MODEL", "PRESET"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.peak_of:
        print(json.dumps(peak(*given.peak_of)))
        return
    print(f"torch {torch.__version__}, {given.threads} threads, {given.rounds} rounds")
    if "events" in given.only:
        for name in KINDS:
            own, over = events(name, 5 * given.rounds)
            more = f"({over:.2f} µs with the watching of calls)"
            print(f"{name:26}{own:6.2f} µs over an empty hook {more}{verdict(own, EVENT)}")
    if "stream" in given.only:
        count, more, took = stream(1_000_000)
        each = f"{1e6 * took / count:.1f} µs each"
        print(f"{count:,} events streamed: {more:.0f} MB above bare, {each}{verdict(more, STREAM)}")
    for name in [name for name in MODELS if name.startswith(given.model)]:
        for preset, limit in LIMITS.items():
            row = f"{name:22}{preset:7}"
            if "steps" in given.only:
                bare, hooked, ratios, noise = steps(name, preset, 2 * given.rounds)
                found = f"{bare:8.3f} s bare {hooked:8.3f} s hooked {ratios[1]:6.3f} times"
                found += f" ({ratios[0]:.3f} to {ratios[2]:.3f}; bare by bare {noise[1]:.3f})"
                print(row + found + verdict(ratios[1], limit), flush=True)
            if "peak" in given.only:
                for how, env in ALLOCATORS.items():
                    bare, most = (apart("--peak-of", name, p, **env) for p in ("bare", preset))
                    found = f"{bare:8.0f} MB bare {most:7.0f} MB hooked {most / bare:6.3f} times"
                    print(f"{row}{found} {how}{verdict(most / bare, PEAK)}", flush=True)


if __name__ == "__main__":
    main()
