"""An error anywhere in hookcli changes nothing of a training that it watches."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.optim import optimizer as torch_optimizer

import hookcli
from hookcli.actions.observe import NotFiniteError
from hookcli.config.load import read_config
from hookcli.config.merge import Flags, spec_of
from hookcli.report.training import ScriptInfo
from hookcli.spec.training import RunJob, ScriptSpec, TrainingSpec, parse_steps
from hookcli.training import watch as watching
from hookcli.training.non_finite import find
from hookcli.training.observers.catalogue import OBSERVERS
from hookcli.training.observers.observer import Observer
from hookcli.training.observers.torch_calls import WATCHED
from hookcli.training.script.watched_function import WATCHED_CODE
from tests.training import test_loops as loops

ROOT = Path(hookcli.__file__).parent
PARTS = ("training", "engine/loop", "engine/hook_engine/attached.py", "engine/observe/recorder.py")
PARTS += ("models/call_hooks.py", "hooks/attach", "hooks/hook.py", "report/sinks.py")
# What PyTorch or another of these calls, and does nothing but to catch errors of the rest.
OUTERMOST = {"_begin", "_pre", "_post", "_global_post", "__call__", "fire", "look"}
OUTERMOST |= {"forward_ended", "root_ended"}
# They end the observation: an error in them leaves hooks that do nothing, and no line.
ENDING = {"note", "stop", "pause", "close", "rest", "abandon", "detach", "_failed"}
ENDING |= {"_unhook_calls", "_forget_end", "_restore_compile", "_print", "forget_optimizers"}
# A node that was changed in place refuses to be read, with a RuntimeError: these say nothing then.
ENDING |= {"bare_returns", "crossed_advantages", "divergence_weight", "_number_of"}
ENDING |= {"_is_log_probability", "over_samples"}
YAML = """\
hooks:
  - {kind: forward_pre, at: "*"}
  - {kind: forward, at: "*", do: stats}
  - {kind: full_backward, at: "2", do: stats}
  - {kind: tensor, at: "2:output", do: stats}
  - {kind: post_accumulate_grad, at: "*"}
  - {kind: optimizer_step_pre}
"""


def config(tmp_path, text=YAML):
    file = tmp_path / "hooks.yaml"
    file.write_text(text)
    return spec_of("grads", read_config(str(file)), Flags(model="train.py"))


def train(optimizer_of=torch.optim.Adam, spoil=lambda _step: None, bad=None):
    """Losses, weights and generators of a small training, as bytes."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.3), nn.Tanh(), nn.Linear(6, 2))
    optimizer = optimizer_of(net.parameters(), lr=0.1)
    seen = []
    for step in range(3):
        x = torch.randn(3, 4)
        spoil(step)
        optimizer.zero_grad()
        loss = net(x).square().mean()
        if step == bad:
            loss = loss * torch.tensor(float("nan"))
        loss.backward()
        if step == bad:
            for parameter in net.parameters():
                parameter.grad.nan_to_num_(0.25)
        optimizer.step()
        with torch.no_grad():
            seen.append(loss.item().hex() + str(net(x).sum().item().hex()))
    state = [p.detach().numpy().tobytes() for p in net.parameters()]
    return seen, state, torch.get_rng_state().numpy().tobytes()


def not_finite():
    """A training whose second step is not finite."""
    return train(bad=1)


def by_hand():
    """A training without an optimizer."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    seen = []
    for _ in range(2):
        net.zero_grad()
        loss = net(torch.ones(2, 3)).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= 0.1 * parameter.grad
        seen.append(loss.item().hex())
    return seen


def watched(script, spec, steps="0"):
    """What the script returns, the lines on stderr, and the report if there is one."""
    job = RunJob(ScriptSpec("train.py"), TrainingSpec(parse_steps(steps, "")), spec)
    errors, report, watch = io.StringIO(), None, None
    told = mock.patch.object(watching, "say", lambda text: print(text, file=errors))
    with told, contextlib.redirect_stderr(errors):
        with contextlib.suppress(RuntimeError):  # a session goes on without a watch
            watch = watching.start(job)
        try:
            result = script()
        finally:
            if watch is not None:
                with contextlib.suppress(RuntimeError):  # a session goes on without a report
                    report = watch.finish(ScriptInfo("train.py", (), False, "completed", 0))
    return result, errors.getvalue().splitlines(), report


def unhook():
    """Remove what a failed removal has left."""
    for table in (
        torch_module._global_forward_hooks,
        torch_module._global_forward_pre_hooks,
        torch_module._global_forward_hooks_always_called,
        torch_module._global_forward_hooks_with_kwargs,
        torch_optimizer._global_optimizer_pre_hooks,
        torch_optimizer._global_optimizer_post_hooks,
    ):
        table.clear()
    torch.compile = COMPILE
    for owners in WATCHED.values():
        for owner, name in owners:
            while vars(owner)[name].__code__ is WATCHED_CODE:
                setattr(owner, name, vars(owner)[name].__wrapped__)


COMPILE = torch.compile


def called(script, spec):
    """The functions of hookcli that run while this script is watched: (module, path)."""
    found = {}

    def look(frame, event, _arg):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            found[code] = frame.f_globals["__name__"]

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        watched(script, spec)
    finally:
        sys.setprofile(before)
    rows = set()
    for code, name in found.items():
        file = Path(code.co_filename).relative_to(ROOT).as_posix()
        if "<" not in code.co_qualname and file.startswith(PARTS):
            rows.add((name, code.co_qualname))
    return sorted(rows)


class Broken:
    """Makes one function of hookcli raise while the context is open, and counts its calls."""

    def __init__(self, module, path):
        self.calls = 0
        *owners, self._name = path.split(".")
        self._owner = functools.reduce(getattr, owners, sys.modules[module])
        self._old = vars(self._owner)[self._name]
        self._changed = []

    def __enter__(self):
        def broken(*_args, **_kwargs):
            self.calls += 1
            raise RuntimeError("a fault of hookcli")

        new = broken
        if isinstance(self._old, property):
            new = property(broken)
        elif isinstance(self._old, classmethod | staticmethod):
            new = staticmethod(broken)
        self._put(self._owner, self._name, new)
        if not isinstance(self._owner, type):
            for name, module in list(sys.modules.items()):
                if name.startswith("hookcli.") and module is not self._owner:
                    for key, value in list(vars(module).items()):
                        if value is self._old:
                            self._put(module, key, new)
        return self

    def _put(self, owner, name, new):
        self._changed.append((owner, name))
        setattr(owner, name, new)

    def __exit__(self, *_):
        for owner, name in self._changed:
            setattr(owner, name, self._old)


LEFT_OUT = "hookcli left out what looks for"


PARTS_OF_FUNCTIONS = 5


@pytest.mark.skipif(sys.version_info < (3, 11), reason="finds functions by their qualified names")
@pytest.mark.parametrize("part", range(PARTS_OF_FUNCTIONS))
def test_a_fault_in_any_function_changes_nothing(part, tmp_path, monkeypatch):
    # A replay runs in a copy of the process, whose errors do not count, and takes long.
    monkeypatch.setattr(find, "obstacle", lambda: "a test")
    spec = config(tmp_path)
    known, silent, wrong, told = set(), [], [], 0
    cases = []
    for script in (train, by_hand, not_finite):
        plain = script()
        result, lines, _ = watched(script, spec)
        assert (result, lines) == (plain, [])
        new = [name for name in called(script, spec) if name not in known]
        known.update(new)
        cases += [(script, plain, *name) for name in new]
    assert len(cases) > 100
    for script, plain, module, path in cases[part::PARTS_OF_FUNCTIONS]:
        name = path.rpartition(".")[2]
        if name in OUTERMOST or path.startswith("Guard."):
            continue
        with Broken(module, path) as fault:
            try:
                result, lines, report = watched(script, spec)
            except Exception as error:  # collected
                wrong.append((module, path, repr(error)))
                unhook()
                continue
        unhook()
        if result != plain:
            wrong.append((module, path, "differs"))
        told += len(lines)
        detached = report is not None and report.tracking.detached is not None
        if lines != [line for line in lines if line.startswith("hookcli: detached after")][:1]:
            wrong.append((module, path, lines))
        left_out = report is not None and any(LEFT_OUT in note for note in report.warnings)
        if fault.calls and not (lines or detached or left_out) and report is not None:
            silent.append(path)
    assert not wrong
    assert told > 50 // PARTS_OF_FUNCTIONS
    assert set(silent) <= ENDING, silent


@pytest.mark.parametrize("kind", [kind for kind in OBSERVERS if kind.kinds])
def test_an_observer_that_fails_is_left_out_alone(monkeypatch, kind):
    """The others go on, and no rule says that nothing is wrong where this one looked."""

    def run():
        torch.manual_seed(0)
        return loops.watched(loops.steps_of(nn.Linear(4, 2)))[0]

    plain = run()

    def fail(self, *_):
        raise LookupError("a fault")

    names = {*kind.before.values(), *kind.after.values(), "finish", "before_step"}
    for name in names:
        if getattr(kind, name) is not getattr(Observer, name, None):
            monkeypatch.setattr(kind, name, fail)
    report = run()
    assert report.records[0].training.steps == plain.records[0].training.steps
    assert plain.looked_for.keys() - report.looked_for.keys() == set(kind.kinds)
    assert not any(fact.kind in kind.kinds for fact in report.facts or ())
    (note,) = [note for note in report.warnings if LEFT_OUT in note]
    assert note.endswith("which failed: LookupError: a fault; please report this")
    assert not any(LEFT_OUT in note for note in plain.warnings)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_inside_of_hookcli_reaches_the_script(error, tmp_path, monkeypatch):
    def interrupt(*_):
        raise error

    monkeypatch.setattr("hookcli.training.watch.gradient_norm", interrupt)
    with pytest.raises(error):
        watched(train, config(tmp_path))
    unhook()


def test_what_the_users_own_hook_raises_ends_the_script(tmp_path):
    spec = config(tmp_path, "hooks: [{kind: forward, at: '3', do: assert_finite}]")

    def script():
        net = nn.Sequential(*(nn.Identity() for _ in range(3)), nn.Linear(2, 1))
        net(torch.tensor([[1.0, float("inf")]]))

    with pytest.raises(NotFiniteError):
        watched(script, spec)
    unhook()


def test_a_script_may_clear_the_hooks_of_torch(tmp_path):
    def clear(step):
        if step == 1:
            torch_module._global_forward_hooks.clear()
            torch_module._global_forward_pre_hooks.clear()

    plain = train()
    assert watched(functools.partial(train, spoil=clear), config(tmp_path))[0] == plain
    unhook()
