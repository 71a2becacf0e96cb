"""Compares hookcli's gradients with plain PyTorch, one line per model and loss.

`python -m benchmarks.proof.gradients [names] [--markdown F]`. Each model runs in two processes: by
`hookcli grads`, and by hand, without importing hookcli.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from benchmarks.proof.small import SMALL, Small, config_of

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.stem for path in (ROOT / "sample_models").glob("*.py"))
LOSSES = ("probe", "sum", "mean")
TIMEOUT = 180
RTOL = 1e-5
IMPORTING = Lock()
FULL = 6  # modules that get a full backward hook of torch's, one at a time


# By hand


@dataclass
class Call:
    """One call: norms of gradients by the index of the tensor; None: no gradient arrived."""

    outputs: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    lost: list = field(default_factory=list)  # inputs whose hook an in-place change took away
    taken: list = field(default_factory=list)  # inputs, with the nodes that made them
    back: list = field(default_factory=list)  # inputs that are among the outputs as they were


def norm(gradient):
    import torch

    if gradient is None:
        return None
    dense = gradient.detach().to_dense()
    wide = torch.complex128 if dense.is_complex() else torch.float64
    return float(torch.linalg.vector_norm(dense.to(wide)))


def probe(output, seed=0):
    """Contract each output with seeded vectors of unit norm, beginning with the last dimension."""
    import torch

    from tests.truth import tensors

    if isinstance(output, dict) and getattr(output.get("loss"), "requires_grad", False):
        return output["loss"].reshape(())
    generator = torch.Generator().manual_seed(seed)
    total = 0.0
    for tensor in distinct(tensors(output)):
        left = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        left = torch.where(left == -torch.inf, 0.0, left)
        while left.dim():
            vector = torch.randn(left.shape[-1], generator=generator, dtype=torch.float64)
            left = left @ (vector / vector.norm()).to(left.dtype)
        total = total + left
    return total


def reduced(how):
    def loss(output):
        from tests.truth import tensors

        return sum(getattr(one.float(), how)() for one in distinct(tensors(output)))

    return loss


def distinct(found):
    return list({id(one): one for one in found if one.requires_grad}.values())


def loss_of(name):
    return probe if name == "probe" else reduced(name)


class Hand:
    """The hooks of one run. `mode`: at outputs, or at views of inputs."""

    def __init__(self, model, mode):
        self.calls, self.mode = {}, mode
        self.names = {id(m): n for n, m in model.named_modules()}
        self.counts, self.running, self.views = {}, [], []
        for module in model.modules():
            module.register_forward_pre_hook(self.before, with_kwargs=True)
            module.register_forward_hook(self.after, always_call=True)

    def before(self, module, args, kwargs):
        name = self.names.get(id(module))
        import torch

        from tests import truth

        again = torch._C._current_graph_task_id() != -1
        self.counts[name] = self.counts.get(name, -1) + (not again)
        call = self.calls.setdefault(f"{name} {self.counts[name]}", Call())
        self.running.append((id(module), call))
        if self.mode == "outputs":
            call.taken = [(t, t.grad_fn) for t in truth.tensors((args, kwargs)) if not again]
        if self.mode == "inputs" and not again:
            return self.viewed(call, args, kwargs)
        return None

    def viewed(self, call, args, kwargs):
        """Return the arguments with a view of each tensor, whose gradient is the call's share."""
        import torch

        from tests.truth import tensors

        places = {}
        for i, one in enumerate(tensors((args, kwargs))):
            places.setdefault(id(one), i)
            call.inputs.append(None)
        memo = {}

        def view(value):
            if isinstance(value, torch.Tensor):
                if not value.requires_grad or not torch.is_grad_enabled():
                    return value
                if id(value) not in memo:
                    memo[id(value)] = made = value.view_as(value)
                    place = places[id(value)]
                    made.register_hook(lambda g: call.inputs.__setitem__(place, norm(g)))
                    self.views.append((call, place, made, made._version))
                return memo[id(value)]
            if hasattr(value, "_fields"):  # a packed sequence is one
                return type(value)(*map(view, value))
            if type(value) in {tuple, list}:
                return type(value)(map(view, value))
            return {k: view(v) for k, v in value.items()} if type(value) is dict else value

        return view(args), view(kwargs)

    def after(self, module, args, output):
        from tests.truth import tensors

        while self.running:
            key, call = self.running.pop()
            if key == id(module):
                break
        if self.mode != "outputs":
            return
        seen, found = set(), list(tensors(output))
        call.outputs = call.outputs or [None] * len(found)
        given = {(id(one), one.grad_fn) for one in found}
        call.back += [i for i, (t, node) in enumerate(call.taken) if (id(t), node) in given]
        call.taken = []
        for i, one in enumerate(found):
            if one.requires_grad and id(one) not in seen:
                seen.add(id(one))
                put = call.outputs
                one.register_hook(lambda g, i=i, put=put: put.__setitem__(i, norm(g)))

    def ended(self):
        for call, place, view, version in self.views:
            if view._version != version:
                call.lost.append(place)


def step(made, loss, attach):
    """Return (model, result of `attach`, loss) after one forward and backward in train mode."""
    from tests import truth

    truth.seed()
    model = made.build().train()
    truth.seed()
    args, kwargs = made.batch()
    attached = attach(model)
    truth.seed()
    value = loss_of(loss)(model(*args, **kwargs))
    if isinstance(attached, Hand):
        attached.ended()
    value.backward()
    return model, attached, float(value.detach())


def alone(args):
    """Return which arguments get a separate gradient: a tensor that is passed twice gets two."""
    ids = [id(one) for one in args]
    return [getattr(one, "requires_grad", False) and ids.count(id(one)) == 1 for one in args]


def full_backward(made, loss, plain, model):
    """Return grad_input of some modules from torch's full backward hook, one module at a time."""
    once = [n for n, m in model.named_modules() if f"{n} 0" in plain and f"{n} 1" not in plain]
    chosen = once[1 :: max(1, len(once) // FULL)][:FULL]
    found = {}
    for name in chosen:
        fired, given = [], []

        def attach(model):
            module = model.get_submodule(name)
            module.register_forward_pre_hook(lambda m, args: given.append(alone(args)))
            module.register_full_backward_hook(
                lambda m, grad_input, grad_output: fired.append(list(map(norm, grad_input)))
            )

        try:
            step(made, loss, attach)
        except RuntimeError:
            continue  # an in-place change: torch refuses
        if len(fired) == 1 and any(given[0]):
            found[name] = [g if graded else None for g, graded in zip(fired[0], given[0])]
    return found


@dataclass
class Made:
    build: object
    batch: object


def made_of(name, folder):
    if name in SMALL:
        import torch
        import transformers

        one = SMALL[name]
        kind = getattr(transformers, one.model)
        values = {n: torch.load(folder / f"{n}.pt") for n, _, _ in one.inputs}
        return Made(
            lambda: kind(kind.config_class(**config_of(one, kind.config_class))),
            lambda: ((), values),
        )
    spec = importlib.util.spec_from_file_location(name, ROOT / "sample_models" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)

    def batch():
        given = module.example_inputs()
        return ((), given) if isinstance(given, dict) else (given, {})

    return Made(getattr(module, module.EXPECTED["type"]), batch)


def truth_of(name, loss, folder):
    import torch

    made = made_of(name, folder)
    model, hand, value = step(made, loss, lambda model: Hand(model, "outputs"))
    parameters = {n: norm(p.grad) for n, p in model.named_parameters()}
    weights = {n: norm(p) for n, p in model.named_parameters()}
    total = float(torch.nn.utils.clip_grad_norm_(model.parameters(), math.inf))
    refused = None
    try:
        _, viewed, _ = step(made, loss, lambda model: Hand(model, "inputs"))
    except RuntimeError as error:
        viewed, refused = None, str(error).splitlines()[0]
    said = {
        "loss": value,
        "parameters": parameters,
        "weights": weights,
        "total": total,
        "outputs": {key: call.outputs for key, call in hand.calls.items()},
        "back": {key: call.back for key, call in hand.calls.items()},
        "inputs": {}
        if viewed is None
        else {k: [c.inputs, c.lost] for k, c in viewed.calls.items()},
        "refused": refused,
        "full": full_backward(made, loss, hand.calls, model),
    }
    assert not any(name.partition(".")[0] == "hookcli" for name in sys.modules)
    return said


# hookcli


def process(command):
    environment = dict(os.environ, HF_HUB_OFFLINE="1", PYTHONPATH=str(ROOT))
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT
    )
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    said = [line for line in lines if line.startswith("error:")] or lines[-1:] or ["no word"]
    return None if done.returncode == 0 else said[-1]


def write_inputs(one, folder):
    import torch

    torch.manual_seed(1)
    for name, shape, high in one.inputs:
        value = torch.randn(shape) if high is None else torch.randint(1, high, shape)
        torch.save(value, folder / f"{name}.pt")


def by_hookcli(name, loss, folder):
    file = folder / "report.json"
    command = [sys.executable, "-m", "hookcli", "grads", "--loss", loss]
    if name in SMALL:
        one = SMALL[name]
        with IMPORTING:  # transformers loads its modules when they are asked for
            import transformers

            config = config_of(one, getattr(transformers, one.model).config_class)
        call = {"call": f"transformers:{one.model}.config_class", "args": config}
        command += [f"transformers:{one.model}", "--arg", f"config={json.dumps(call)}"]
        for n, _, _ in one.inputs:
            command += ["--input", f"{n}={folder / n}.pt"]
    else:
        command.append(f"sample_models/{name}.py")
    failure = process([*command, "-f", "json", "-o", str(file)])
    return failure, json.loads(file.read_text()) if file.exists() else None


# Holding one against the other


@dataclass
class Tally:
    """The counts of what was compared, and descriptions of the differences."""

    name: str
    model: str
    loss: str
    counts: dict = field(default_factory=dict)
    worst: float = 0.0
    given_back: int = 0
    differences: list = field(default_factory=list)
    failure: str | None = None
    note: str = ""
    seconds: float = 0.0

    @property
    def verdict(self):
        return "FAILED" if self.failure else "DIFFERENT" if self.differences else "SAME"

    def same(self, what, where, hand, ours):
        self.counts[what] = self.counts.get(what, 0) + (hand is not None)
        if (hand is None) != (ours is None):
            self.differences.append(f"{what} {where}: {hand} by hand, {ours} by hookcli")
        elif hand is not None:
            ours = float(ours)
            if math.isnan(hand) and math.isnan(ours):
                return
            size = max(abs(hand), abs(ours))
            # Below float32's least normal number nothing is exact.
            error = abs(hand - ours) / size if size > 1e-30 else 0.0
            self.worst = max(self.worst, error)
            if not error <= RTOL:
                self.differences.append(f"{what} {where}: {hand!r} by hand, {ours!r} by hookcli")


def figure(stats):
    return None if stats is None else stats["norm"]


def compare_reports(tally, truth, report):
    tally.same("loss", "", truth["loss"], report["run"]["losses"][0])
    ours = {row["name"]: row for row in report["parameters"]}
    if list(ours) != list(truth["parameters"]):
        tally.differences.append("the parameters are not the same")
        return
    for name, hand in truth["parameters"].items():
        tally.same("weight", name, truth["weights"][name], figure(ours[name]["stats"]))
        tally.same("parameter", name, hand, figure(ours[name]["grad"]))
    tally.same("total", "", truth["total"], report["totals"]["grad_norm"])
    rows = {}
    for row in report["layers"]:
        rows.setdefault(f"{row['name']} {row['call']}", []).append(row)
    for key, hand in truth["outputs"].items():
        for i, one in enumerate(hand):
            tally.same("output", f"{key} {i}", one, seen(rows.get(key, ()), "outputs", i))
    for key, (hand, lost) in truth["inputs"].items():
        back = truth["back"][key]
        for i, one in enumerate(hand):
            if i in back:
                tally.given_back += one is not None
                tally.same("input", f"{key} {i}", None, seen(rows.get(key, ()), "inputs", i))
            elif i not in lost:
                tally.same("input", f"{key} {i}", one, seen(rows.get(key, ()), "inputs", i))
    for name, hand in truth["full"].items():
        inputs = {leaf["path"]: figure(leaf["grad"]) for leaf in rows[f"{name} 0"][0]["inputs"]}
        for i, one in enumerate(hand):
            if one is None or f"[{i}]" not in inputs or i in truth["back"][f"{name} 0"]:
                continue
            # Torch fills up with zeros what a module was given and did not use.
            unused = one == 0.0 and inputs[f"[{i}]"] is None
            tally.same("full", f"{name} {i}", None if unused else one, inputs[f"[{i}]"])


def seen(rows, part, i):
    """Return the gradient at a call's i-th tensor; a checkpointed call has two rows."""
    found = [figure(row[part][i]["grad"]) for row in rows if i < len(row[part])]
    return next((one for one in found if one is not None), None)


def compare(name, loss):
    one = SMALL.get(name)
    tally = Tally(name, one.model if isinstance(one, Small) else "sample", loss)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if one is not None:
            write_inputs(one, folder)
        try:
            failure, report = by_hookcli(name, loss, folder)
            file = folder / "truth.json"
            command = [sys.executable, "-m", "benchmarks.proof.gradients", name, "--loss", loss]
            broken = process([*command, "--truth", str(file)])
            truth = json.loads(file.read_text()) if file.exists() else None
        except subprocess.TimeoutExpired:
            failure, broken, report, truth = f"no answer in {TIMEOUT} s", None, None, None
    tally.seconds = time.monotonic() - started
    words = {"hookcli": failure, "by hand": broken}
    tally.failure = "; ".join(f"{who}: {what}" for who, what in words.items() if what) or None
    if tally.failure is None:
        compare_reports(tally, truth, report)
        tally.note = f"views of inputs: {truth['refused']}" if truth["refused"] else ""
    return tally


# Output

COLUMNS = ("parameter", "output", "input", "full")


def line(tally):
    counts = "  ".join(f"{tally.counts.get(what, 0):4} {what}" for what in COLUMNS)
    text = f"{tally.verdict:9} {tally.name:20} {tally.loss:5} {counts}  {tally.worst:.0e}"
    words = [tally.failure] if tally.failure else tally.differences[:3]
    return "\n    ".join([f"{text}  {tally.seconds:4.0f} s", *words, *filter(None, [tally.note])])


def summary(tallies):
    verdicts = ("SAME", "DIFFERENT", "FAILED")
    counts = ", ".join(f"{sum(t.verdict == v for t in tallies)} {v}" for v in verdicts)
    total = {what: sum(t.counts.get(what, 0) for t in tallies) for what in COLUMNS}
    returned = sum(t.given_back for t in tallies)
    return (
        f"{len(tallies)} runs of {len({t.name for t in tallies})} models: {counts}. Gradients "
        f"compared: {total['parameter']:,} of parameters, {total['output']:,} at outputs, "
        f"{total['input']:,} at inputs by views, {total['full']:,} at inputs by torch's full "
        f"backward hooks; {returned:,} inputs were returned unchanged, for which hookcli reports "
        "that it cannot tell; the largest relative difference of two norms is "
        f"{max(t.worst for t in tallies):.0e}."
    )


HEAD = """\
# hookcli's gradients compared with plain PyTorch

`python -m benchmarks.proof.gradients --markdown docs/measurements/proof-gradients.md` runs
`hookcli grads` on small versions of models of transformers and on every sample model, in train
mode, and runs the same forward and backward in another process without hookcli. It compares, with a
relative tolerance of 1e-5:

- the loss, which the script computes by its own code;
- the norm of every parameter and of its gradient;
- the total norm, computed by `torch.nn.utils.clip_grad_norm_`;
- the norm of the gradient at every output tensor of a module, from `Tensor.register_hook`;
- the norm of a call's own share of the gradient at every input tensor. The script passes views of
  its inputs to each module and attaches hooks to the views. It also attaches torch's
  `register_full_backward_hook` to some modules, one at a time.

If no gradient arrives on one side, none may arrive on the other. If a module returns an input
unchanged (Identity, a dropout of 0), the gradient through the module cannot be distinguished from
the gradient past it without a change of the graph: hookcli must not report a norm there.
"""


def table(tallies):
    rows = [
        HEAD,
        summary(tallies) + "\n",
        "| model | class | loss | verdict | parameters | outputs | inputs | full hooks | worst "
        "| note |",
        "|---|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for t in tallies:
        note = (t.failure or "; ".join(t.differences[:1]) or t.note).replace("|", "\\|")
        cells = [t.name, t.model, t.loss, t.verdict, *(t.counts.get(what, 0) for what in COLUMNS)]
        rows.append("| " + " | ".join(map(str, [*cells, f"{t.worst:.0e}", note])) + " |")
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--loss", choices=LOSSES)
    parser.add_argument("--truth", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.truth:
        warnings.simplefilter("ignore")
        said = truth_of(given.names[0], given.loss, given.truth.parent)
        given.truth.write_text(json.dumps(said))
        return 0
    wanted = [
        (name, loss)
        for name in given.names or (*SMALL, *SAMPLES)
        for loss in ([given.loss] if given.loss else LOSSES if name in SAMPLES else ["probe"])
    ]
    tallies = []
    with ThreadPoolExecutor(2) as pool:
        for tally in pool.map(lambda one: compare(*one), wanted):
            tallies.append(tally)
            print(line(tally), flush=True)
    print(summary(tallies))
    if given.markdown:
        given.markdown.write_text(table(tallies))
    return int(any(tally.verdict != "SAME" for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
