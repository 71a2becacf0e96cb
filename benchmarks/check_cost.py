"""What `hookcli check` adds to the forwards and backwards that it makes, and what judging costs.

    python -m benchmarks.check_cost [--rounds N] [--threads N] [--batch N] [--layers N]
                                    [--only run,judge]

The safe set on the shape of ResNet-50 (past its construction: batch, run, probes, report, JSON
there and back, judgement, table) and a bare loop of the same forwards and backwards, with batches
of the same sizes, alternate in one process, so that whatever else the machine does slows both.
Medians of the ratios of neighbours, by the clock and in processor time; the noise is that of two
bare loops beside each other. A report of as many layers is that of a chain, with its rows repeated.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from hookcli.config.merge import Flags, spec_of  # noqa: E402
from hookcli.engine import attempt  # noqa: E402
from hookcli.formats.check.document import performed  # noqa: E402
from hookcli.formats.registry import FORMATS  # noqa: E402
from hookcli.formats.view import View  # noqa: E402
from hookcli.report.encode import to_json  # noqa: E402
from hookcli.report.findings import PASSES  # noqa: E402
from hookcli.report.schema import from_json  # noqa: E402
from hookcli.rules.catalogue import SAFE  # noqa: E402
from hookcli.rules.judge import judge_report  # noqa: E402
from hookcli.spec.inputs import parse_inputs  # noqa: E402
from hookcli.spec.request import Attempt  # noqa: E402

LIMIT, JUDGING = 1.10, 2.0  # times; seconds
MADE: dict[str, nn.Module] = {}
PREPARE = attempt.prepare


def made():
    """What the check runs: built before it is timed."""
    return MADE["model"]


BUILT = [0.0, 0.0]  # seconds by the clock, and of the processor, that took the model in


def prepare(*args):
    """What stands before the run, whatever is asked of it: timed apart."""
    found = []
    took = timed(lambda: found.append(PREPARE(*args)))
    BUILT[:] = [a + b for a, b in zip(BUILT, took, strict=True)]
    return found[0]


def without_building(work):
    """(seconds by the clock, of the processor), less those of building the model."""
    BUILT[:] = [0.0, 0.0]
    took = timed(work)
    return tuple(a - b for a, b in zip(took, BUILT, strict=True))


def checked(shape):
    """The judged report, and its table: everything but starting a process and building a model."""
    flags = Flags(model="benchmarks.check_cost:made", inputs=parse_inputs((shape,)))
    spec = spec_of("check", None, flags)
    text = to_json(attempt.Session(spec, Attempt("real"), lambda *_: None).run().report)
    report = judge_report(from_json(text), spec.checks)
    return report, FORMATS["table"].render(report, View(width=80))


def bare(model, batch, passes):
    """The same forwards and backwards, without hookcli."""
    for one in passes:
        model.train(one["mode"] == "train")
        for number in range(one["forwards"]):
            more = one["rules"] == ["batch_independent"] and number == 0  # it has a sample more
            output = model(torch.cat((batch, batch[:1])) if more else batch)
            if number < one["backwards"]:
                model.zero_grad(set_to_none=True)
                output.sum().backward()
    model.zero_grad(set_to_none=True)


def timed(work):
    """(seconds by the clock, of the processor)."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def spread(values):
    low, middle, high = quantiles(values, n=4)
    return f"{middle:.3f} (half of them within {low:.3f} … {high:.3f})"


def cost(samples, rounds):
    """Times of the safe set beside the bare loop's."""
    from benchmarks.models.resnet50 import build_model

    torch.manual_seed(0)
    attempt.prepare = prepare
    MADE["model"] = model = build_model()
    shape = f"{samples}x3x224x224"
    batch = torch.randn(samples, 3, 224, 224)
    sys.modules["benchmarks.check_cost"] = sys.modules[__name__]
    report, _ = checked(shape)
    passes = [one.value for one in report.measurements if one.probe == PASSES]
    print(f"ResNet-50, {shape}: {performed(report)}")
    assert all(row.status in {"pass", "skip"} for row in report.checks), report.checks
    bare(model, batch, passes)
    found = []
    for _ in range(rounds):
        one = timed(lambda: bare(model, batch, passes))
        other = timed(lambda: bare(model, batch, passes))
        ours = without_building(lambda: checked(shape))
        found.append((one, other, ours))
        print(f"  bare {one[0]:.2f} s, {other[0]:.2f} s, checked {ours[0]:.2f} s", flush=True)
    for i, name in enumerate(("by the clock", "of the processor")):
        ratios = [ours[i] / ((one[i] + other[i]) / 2) for one, other, ours in found]
        noise = [other[i] / one[i] for one, other, _ in found]
        over = "" if median(ratios) <= LIMIT else f", above {LIMIT}"
        base = median(one[i] for one, _, _ in found)
        print(f"{name}: {base:.2f} s bare; checked {spread(ratios)} of it{over}")
        print(f"  bare beside bare: {spread(noise)}")


def long_report(layers):
    """A report of so many calls: those of a chain, under other names."""
    few = min(10, layers)
    MADE["model"] = nn.Sequential(*(nn.Linear(8, 8) for _ in range(few)))
    sys.modules["benchmarks.check_cost"] = sys.modules[__name__]
    report, _ = checked("2x8")
    root, *rows = report.layers
    many = [root]
    held = []
    for i in range(layers):
        row = rows[i % few]
        many.append(dataclasses.replace(row, order=i + 1, name=str(i)))
        both = report.parameters[2 * (i % few) : 2 * (i % few) + 2]  # weight and bias
        held += [
            dataclasses.replace(one, name=f"{i}.{one.name.rpartition('.')[2]}") for one in both
        ]
    return dataclasses.replace(report, layers=tuple(many), parameters=tuple(held), checks=())


def judging(layers, rounds):
    """Seconds to read, judge and show a long report."""
    report = long_report(layers)
    text, done = to_json(report), judge_report(report, SAFE)
    assert all(row.status != "fail" for row in done.checks)
    work = {
        "read": lambda: from_json(text),
        "judged": lambda: judge_report(report, SAFE),
        "shown": lambda: FORMATS["table"].render(done, View(width=80)),
    }
    took = {name: [] for name in work}
    for _ in range(rounds):
        for name, one in work.items():
            took[name].append(timed(one))
    size = f"{len(report.layers):,} calls, {len(report.parameters):,} parameters"
    print(f"{size}, {len(text) / 1e6:.0f} MB of JSON; medians of {rounds}:")
    for name, seconds in took.items():
        clock, processor = (median(one[i] for one in seconds) for i in (0, 1))
        best = min(one[1] for one in seconds)
        over = "" if name != "judged" or processor <= JUDGING else f", above {JUDGING:g} s"
        print(f"  {name}: {clock:.2f} s, of the processor {processor:.2f} s ({best:.2f}){over}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--layers", type=int, default=100_000)
    parser.add_argument("--only", default="run,judge")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(f"torch {torch.__version__}, {given.threads} threads, {given.rounds} rounds")
    if "run" in given.only:
        cost(given.batch, given.rounds)
    if "judge" in given.only:
        judging(given.layers, max(3, given.rounds // 3))


if __name__ == "__main__":
    main()
