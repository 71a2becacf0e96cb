"""The process that compiles a model, runs it beside the eager one, and compares both."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from torch import nn

from hookcli.engine.batch.outcome import Result
from hookcli.engine.compiled.account import CompilerReader
from hookcli.engine.compiled.backends import compiler_of, is_without_compiler, no_compiler
from hookcli.engine.compiled.failures import CompileFailure, compile_failure
from hookcli.engine.compiled.gradient_probes import GradientProbes
from hookcli.engine.compiled.judge import CompiledJudge, Yardsticks
from hookcli.engine.compiled.recording import CallRecorder, Recorded, run_once, tensors_of
from hookcli.engine.compiled.rounding import RoundingNoise
from hookcli.engine.diff.exchange import Side
from hookcli.engine.observe.recorder import Progress
from hookcli.engine.parallel.reports import report_of
from hookcli.engine.prepare import prepare
from hookcli.engine.seeds import has_drawn_any, seed_all
from hookcli.errors import HookcliError, ModelError, is_own
from hookcli.memory import available
from hookcli.models import module_tree
from hookcli.models.batch import Batch, map_batch
from hookcli.models.failures import TRACEBACK_HINT
from hookcli.models.python.importing import own_path
from hookcli.refusals import raise_if_external
from hookcli.report.findings import Measurement
from hookcli.spec.compared.compiled import COMPARED, CompiledRun
from hookcli.spec.plan import plan
from hookcli.spec.request import Attempt, SideSpec, Spec

_NOISE_RUNS = 3
_SHARE = 6  # of the available memory, the part that values of one run may take
_OTHER_BACKEND = "aot_eager"  # is tried where inductor fails


class CompiledSession:
    """Runs the model eagerly and compiled. `progress` is called with each phase."""

    def __init__(self, spec: Spec, attempt: Attempt, run: CompiledRun, progress: Progress) -> None:
        self._spec, self._attempt, self._run = spec, attempt, run
        self._progress = progress
        self._started = perf_counter()
        self._root: nn.Module = nn.Module()
        self._batch = Batch((), {}, None)
        self._state: list[tuple[nn.Module, str, torch.Tensor, torch.Tensor]] = []
        self._sampled = False
        self._goes_backward = True
        self._notes: list[str] = []

    def run(self) -> Result:
        """Return a report that has the measurement `COMPARED`.

        Raises
        ------
        RequestError, ModelError : the model cannot be built, or the backend cannot be used.
        """
        with own_path():
            self._load()
            compile_module = compiler_of(self._run.settings, self._spec.run.device)
            value = self._compared(compile_module)
        measured = Measurement(COMPARED, "", None, value, None)
        return Result(report_of(self._spec, self._started, None, (measured,)), None, None, ())

    def _load(self) -> None:
        loaded = prepare(self._spec, self._attempt, None, self._begin)
        side = Side(self._spec, SideSpec("b", self._run.folder, weights=True))
        side.exchange_weights(loaded.root)
        candidate = side.their_batch(loaded.root)
        if candidate is None:
            raise ValueError("the reference wrote no batch")
        self._root = loaded.root
        self._batch = map_batch(candidate.batch, lambda t: t.to(self._spec.run.device))
        if (mode := plan(self._spec).mode) != "as-is":
            self._root.train(mode == "train")
        for module, _ in module_tree.modules(self._root):
            for table in (module._parameters, module._buffers):
                for key, tensor in table.items():
                    if tensor is not None:
                        self._state.append((module, key, tensor, tensor.detach().clone()))

    def _begin(self, phase: str) -> None:
        self._progress(phase, None)
        if phase in {"import", "build"}:
            seed_all(self._spec.run.seed)

    def _restore(self) -> None:
        """Give parameters and buffers the values that they had at first."""
        with torch.no_grad():
            for module, key, tensor, value in self._state:
                table = module._buffers if key in module._buffers else module._parameters
                table[key] = tensor  # type: ignore[assignment]  # the one that it was
                tensor.copy_(value)

    def _one(
        self,
        root: nn.Module | None = None,
        compile_module: Callable[[nn.Module], Any] | None = None,
        *,
        inner: bool = False,
        around: AbstractContextManager[Any] | None = None,
        probes: GradientProbes | None = None,
    ) -> Recorded:
        """Run once from the same state, seed and batch; with `inner`, record each call.

        With `probes`, the gradients are those of inputs and outputs of calls.
        """
        root = root or self._root
        self._restore()
        is_double = root is not self._root
        batch = map_batch(self._batch, lambda t: _copied(t, double=is_double))
        recorder = CallRecorder(sampled=self._sampled) if inner else None
        attached = recorder or probes
        with torch.enable_grad(), nullcontext() if attached is None else attached.attached(root):
            call = root if compile_module is None else compile_module(root)
            seed_all(self._spec.run.seed)
            with around or nullcontext():
                run = run_once(
                    call, root, batch, seed=self._spec.run.seed, recorder=recorder,
                    backward=self._goes_backward,
                )  # fmt: skip
        if probes is not None:
            run.gradients = probes.take()
        return run

    def _compared(self, compile_module: Callable[[nn.Module], Any]) -> dict[str, Any]:
        self._progress("forward", None)
        first = self._first()
        draws = has_drawn_any(self._spec.run.seed, self._spec.run.device)
        self._choose_sampling()
        eager = self._one(inner=True)
        marks = Yardsticks(eager)
        judge = CompiledJudge(marks, self._run.tolerances)
        unrepeatable = self._unrepeatable(first, judge)
        value: dict[str, Any] = {
            "backend": self._run.settings.backend, "calls": [], "error": None,
            "backward_ran": self._goes_backward, "observed": None, "compiler": None, "draws": draws,
            "unrepeatable": unrepeatable, "sampled": self._sampled, "precise": False, "noise": 0,
            "notes": self._notes, "retried": None, "backward": None,
        }  # fmt: skip
        with _same_random_numbers() if draws else nullcontext():
            plain, value["compiler"], failure = self._compiled(compile_module, inner=False)
            if failure is not None:
                value["error"] = failure.values()
                value["retried"], retried = self._retried()
                plain = retried or plain
            traced, traced_account = None, None
            if plain is not None and failure is None:
                traced, traced_account, inner_failure = self._compiled(compile_module, inner=True)
                if inner_failure is not None:
                    self._notes.append(
                        "the layers were not compared: with hooks that record them, the model "
                        f"does not compile ({inner_failure.text})"
                    )
        if plain is None:
            return {**value, "result": [], "parameters": [], "buffers": []}
        if judge.exceeds(plain) or (traced is not None and judge.exceeds(traced)):
            self._measure_rounding(marks)
        value["noise"], value["precise"] = marks.runs, bool(marks.precise)
        value.update(judge.ends(plain, eager.paths))
        if traced is not None:
            ends = judge.ends(traced, eager.paths)
            value["observed"] = ends
            value["calls"] = judge.calls(eager, traced)
            self._note_other_graphs(value["compiler"], traced_account)
            if any(row["gradient"]["status"] == "different" for row in value["parameters"]):
                value["backward"] = self._backward(compile_module, marks, judge)
        return value

    def _backward(
        self, compile_module: Callable[[nn.Module], Any], marks: Yardsticks, judge: CompiledJudge
    ) -> dict[str, Any] | None:
        """Return rows of the gradients at inputs and outputs of calls, by `probe_key`.

        None if the model, with the probes, does not compute what it computes without them.
        """
        probes = GradientProbes()
        eager = self._one(probes=probes)
        if judge.exceeds(Recorded(result=eager.result)):
            return None
        traced, _, failure = self._compiled(compile_module, probes=probes)
        if traced is None or failure is not None:
            return None
        own = Yardsticks(Recorded(gradients=eager.gradients))
        for number in range(_NOISE_RUNS if marks.runs else 0):
            noisy = self._one(probes=probes, around=RoundingNoise(number))
            own.add_noise(Recorded(gradients=noisy.gradients))
        rows = CompiledJudge(own, self._run.tolerances).ends(traced, ())["parameters"]
        return {row["name"]: row["gradient"] for row in rows}

    def _first(self) -> Recorded:
        """Run eagerly for the first time; without backward from now on if that fails.

        Raises
        ------
        ModelError : forward fails.
        """
        try:
            run = self._one()
        except Exception as error:  # the model's own code may raise anything
            raise_if_external(error)
            if is_own(error):
                raise
            failure = compile_failure(error)
            raise ModelError(
                f"the eager model raised {failure.text}",
                place=failure.place or self._spec.model.source,
                hint=TRACEBACK_HINT,
            ) from None
        if run.failure is not None:
            self._goes_backward = False
            text = compile_failure(run.failure).text
            self._notes.append(f"backward of the eager model raised {text}: only forward ran")
            run.gradients = {}
        return run

    def _choose_sampling(self) -> None:
        """Decide whether the values of all calls fit in memory, before they are recorded."""
        free = available()
        if free is None:
            return
        sizes = 0
        handles = []

        def count(_module: nn.Module, args: Any, output: Any) -> None:
            nonlocal sizes
            sizes += sum(t.nbytes for t in tensors_of((args, output)))

        for module, _ in module_tree.modules(self._root):
            handles.append(module.register_forward_hook(count))
        try:
            self._one(inner=False)
        finally:
            for handle in handles:
                handle.remove()
        self._sampled = sizes > free / _SHARE
        if self._sampled:
            self._notes.append(
                "the values of all layers do not fit in memory: samples of 65,536 elements of each "
                "were compared"
            )

    def _unrepeatable(self, first: Recorded, judge: CompiledJudge) -> str | None:
        """Return the layer that gives other values in another eager run; None if none does."""
        if not judge.exceeds(first):
            return None
        for moment in self._one(inner=True).moments:
            if moment.kind == "out" and judge.exceeds(Recorded(moments=[moment])):
                return moment.name
        return ""

    def _compiled(
        self,
        compile_module: Callable[[nn.Module], Any],
        *,
        inner: bool = False,
        probes: GradientProbes | None = None,
    ) -> tuple[Recorded | None, Any, CompileFailure | None]:
        """Compile and run; return the values, the account of the compiler, and why it failed."""
        torch.compiler.reset()
        reader = CompilerReader()
        run, failure = None, None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = self._one(compile_module=compile_module, inner=inner, probes=probes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the compiler and the model may raise anything
            raise_if_external(error)
            if is_own(error) and isinstance(error, HookcliError):
                raise
            if is_without_compiler(error):
                raise no_compiler(self._run.settings) from None
            failure = compile_failure(error)
        if run is not None and run.failure is not None:
            failure = compile_failure(run.failure, in_backward=True)
        reader.read(None)
        return run, reader.account(), failure

    def _retried(self) -> tuple[dict[str, Any] | None, Recorded | None]:
        """Compile in another way that may work, for the figures that can be had."""
        settings = self._run.settings
        if settings.fullgraph:
            other, text = replace(settings, fullgraph=False), "without fullgraph=true"
        elif settings.backend != _OTHER_BACKEND:
            other = replace(settings, backend=_OTHER_BACKEND, mode=None)
            text = f"with backend {_OTHER_BACKEND}"
        else:
            return None, None
        try:
            compile_module = compiler_of(other, self._spec.run.device)
            run, account, failure = self._compiled(compile_module, inner=False)
        except HookcliError:
            return None, None
        why = None if failure is None else failure.text
        return {"how": text, "error": why, "compiler": account}, None if failure else run

    def _measure_rounding(self, marks: Yardsticks) -> None:
        """Run eagerly with noise, and in float64 if the model can."""
        for number in range(_NOISE_RUNS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    marks.add_noise(self._one(inner=True, around=RoundingNoise(number)))
                except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
                    raise_if_external(error)
                    break
        self._restore()
        try:
            double = copy.deepcopy(self._root).double()
            marks.add_precise(self._one(double, inner=True))
        except Exception as error:  # noqa: BLE001  # the model's own code may raise anything
            raise_if_external(error)

    def _note_other_graphs(self, plain: Any, traced: Any) -> None:
        if plain is None or traced is None or len(plain.breaks) >= len(traced.breaks):
            return
        known = {row.place for row in plain.breaks}
        new = next((row for row in traced.breaks if row.place not in known), traced.breaks[-1])
        self._notes.append(
            f"the hooks that record layers cause a graph break ({new.place}: {new.reason}); "
            "outputs and gradients are those without hooks"
        )


def _copied(tensor: torch.Tensor, *, double: bool) -> torch.Tensor:
    new = tensor.detach().clone()
    if double and new.is_floating_point():
        new = new.double()
    return new.requires_grad_(tensor.requires_grad)


@contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Let inductor draw the random numbers that eager code draws."""
    from hookcli.torch_private import inductor_config

    before = inductor_config.fallback_random
    inductor_config.fallback_random = True
    try:
        yield
    finally:
        inductor_config.fallback_random = before
