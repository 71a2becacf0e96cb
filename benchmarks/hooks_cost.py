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
import contextlib
import json
import os
import random
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
from hookcli.api.api import printable  # noqa: E402
from hookcli.engine.loop.attached import Attached  # noqa: E402
from hookcli.models.nested import leaves  # noqa: E402
from hookcli.spec.hooks import ActionSpec, HookSpec  # noqa: E402
from hookcli.spec.request import ModelSpec, Spec  # noqa: E402
from hookcli.spec.selectors import selector_of  # noqa: E402

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
    """Processor seconds of a step in four ways, each a list of one a round.

    Their order is drawn anew in every round. "again" is bare beside bare, which tells the noise;
    "empty" has a Python hook that does nothing at each place where trace's preset has one.
    """
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    step(model, batch)

    def bare():
        return seconds(lambda: step(model, batch), time.process_time)

    def hooked():
        with hookcli.attach(model, command=preset):
            return bare()

    def empty():
        handles = empty_hooks(model, KINDS["all of trace's preset"])
        took = bare()
        for handle in handles:
            handle.remove()
        return took

    ways = {"bare": bare, "again": bare, "empty": empty, "hooked": hooked}
    found = {way: [] for way in ways}
    drawn = random.Random(0)
    for _ in range(rounds):
        for way in drawn.sample(list(ways), len(ways)):
            found[way].append(ways[way]())
    return found


def ratios(found, way):
    """Quartiles of the ratios to the bare step of the same round."""
    return quantiles(one / bare for one, bare in zip(found[way], found["bare"], strict=True))


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
    return own_peak()


def own_peak():
    """Megabytes. What getrusage tells begins with what the parent had when it started this one."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
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
        for _, tensor, _ in leaves(output):
            if tensor.requires_grad:
                tensor.register_hook(nothing)

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
    before = own_peak()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "events.jsonl"))
        with attached(model, KINDS["forward_pre and forward"], file) as recording:
            while (count := recording.report().events.count) < wanted:
                for _ in range(20):
                    step(model, batch)
                    recording.step()
    return count, own_peak() - before, time.perf_counter() - started


def verdict(value, limit):
    return "" if value <= limit else f"  above {limit:g}"


def tell_events(rounds):
    for name in KINDS:
        own, over = events(name, rounds)
        more = f"({over:.2f} µs with the watching of calls)"
        print(f"{name:26}{own:6.2f} µs over an empty hook {more}{verdict(own, EVENT)}", flush=True)


def tell_stream():
    count, more, took = apart("--stream-of", "1000000")
    each = f"{1e6 * took / count:.1f} µs each"
    print(f"{count:,} events streamed: {more:.0f} MB above bare, {each}{verdict(more, STREAM)}")


def tell_steps(name, preset, rounds):
    found = steps(name, preset, rounds)
    low, middle, high = ratios(found, "hooked")
    noise, empty = ratios(found, "again")[1], ratios(found, "empty")[1]
    print(
        f"{name:22}{preset:7}{median(found['bare']):8.3f} s bare {middle:6.3f} times hooked "
        f"({low:.3f} to {high:.3f}; bare by bare {noise:.3f}, empty hooks {empty:.3f})"
        f"{verdict(middle, LIMITS[preset])}",
        flush=True,
    )


def tell_peak(name, preset):
    for how, env in ALLOCATORS.items():
        bare, most = (apart("--peak-of", name, one, **env) for one in ("bare", preset))
        found = f"{bare:8.0f} MB bare {most / bare:6.3f} times hooked, {how}"
        print(f"{name:22}{preset:7}{found}{verdict(most / bare, PEAK)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", default="events,stream,steps,peak")
    parser.add_argument("--model", default="", help="only those whose name begins so")
    parser.add_argument("--peak-of", nargs=2, metavar=("MODEL", "PRESET"), help=argparse.SUPPRESS)
    parser.add_argument("--stream-of", type=int, metavar="EVENTS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.peak_of or given.stream_of:
        print(json.dumps(peak(*given.peak_of) if given.peak_of else stream(given.stream_of)))
        return
    print(f"torch {torch.__version__}, {given.threads} threads, {given.rounds} rounds")
    if "events" in given.only:
        tell_events(5 * given.rounds)
    if "stream" in given.only:
        tell_stream()
    for name in [name for name in MODELS if name.startswith(given.model)]:
        for preset in LIMITS:
            if "steps" in given.only:
                tell_steps(name, preset, 2 * given.rounds)
            if "peak" in given.only:
                tell_peak(name, preset)


if __name__ == "__main__":
    main()
