"""`hookcli.check`: checks a model in memory, or a model given by name, against rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookcli.api import arguments
from hookcli.api.api import PrintableReport

if TYPE_CHECKING:
    import os

    import torch
    from torch import nn

    from hookcli.config.config import Config
    from hookcli.report.findings import CheckRow
    from hookcli.rules.verdict import FailOn
    from hookcli.spec.request import Mode, Spec

    Loss = str | Callable[..., torch.Tensor]
    Checks = str | os.PathLike[str] | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedReport(PrintableReport):
    """A report that was checked. `checks` has one row for each finding and each rule that passed.

    `fail_on` is the lowest severity of a finding that makes the check fail.
    """

    fail_on: FailOn = "error"

    @property
    def passed(self) -> bool:
        """Whether there is no finding that makes the check fail, and every rule was judged."""
        from hookcli.rules.verdict import Verdict, verdict_of

        return verdict_of(self, self.fail_on) is Verdict.PASSED

    @property
    def findings(self) -> tuple[CheckRow, ...]:
        """The checks that failed or could not be judged, the most severe first."""
        from hookcli.formats.check.rows import rank

        findings = (row for row in self.checks if row.status in {"fail", "error"})
        return tuple(sorted(findings, key=rank))

    def message(self) -> str:
        """Return the verdict and the findings, as a message for a failed test."""
        from hookcli.formats.check.document import message
        from hookcli.formats.view import View

        return message(self, View(fail_on=self.fail_on))

    def __str__(self) -> str:
        from hookcli.console import Console
        from hookcli.formats.registry import FORMATS
        from hookcli.formats.view import View

        console = Console()
        view = View(width=console.width(), unicode=console.unicode(), fail_on=self.fail_on)
        return str(FORMATS["table"].render(self, view))

    def _repr_html_(self) -> str:
        from hookcli.formats.notebook import render
        from hookcli.formats.view import View

        return render(self, View(fail_on=self.fail_on))


def check(
    model: nn.Module | str,
    config: Checks | None = None,
    *,
    inputs: Any = None,
    rules: Sequence[str] | None = None,
    loss: Loss = "probe",
    steps: int | None = None,
    mode: Mode | None = None,
    seed: int | None = None,
    fail_on: FailOn | None = None,
) -> CheckedReport:
    """Check a model against rules, as `hookcli check` does.

    After the run a model in memory is the same as before, gradients included; see `inspect`.

    Parameters
    ----------
    model : nn.Module or str
        A module on any device, or a model by name, as MODEL on the command line ("net.py:Net").
        A model by name runs in a separate process.
    config : str, os.PathLike, sequence or mapping, optional
        A configuration file, such as `hookcli snapshot` writes; or a list of checks, each the name
        of a rule or a mapping, as under `checks` of a configuration; or a mapping with the keys of
        a configuration (`checks`, `suppress`, …). Default: the safe set of rules.
    inputs : Any, optional
        The inputs of `model.forward`: a tuple is passed as positional arguments, a mapping as
        keyword arguments, anything else as one argument. For a model by name: a string or a list of
        strings, as for `--input`. Default: the inputs of the configuration, else those that the
        model declares.
    rules : sequence of str, optional
        Names of the rules to check. Default: the safe set and all rules of the configuration.
    loss : str or callable, default "probe"
        The scalar that backward starts from, as in `grads`. For a model by name: a string.
    steps : int, optional
        The number of steps, as in `grads`.
    mode : {"train", "eval", "as-is"}, optional
        The mode of the model during the run. Default: the configuration's, else "train".
    seed : int, optional
        The seed, as in `inspect`.
    fail_on : {"error", "warning", "never"}, optional
        The lowest severity of a finding that makes the check fail. Default: the configuration's,
        else "error".

    Returns
    -------
    CheckedReport
        The report, with `passed`, `findings` and `message()`.

    Raises
    ------
    RequestError
        There is no batch, the batch does not fit `model.forward`, the configuration is wrong or
        does not fit the model, or a rule requires a model by name: `parallel_equal` and
        `compile_equal` start processes.
    ModelError
        A model by name cannot be built.

    Examples
    --------
    >>> report = hookcli.check(model, [{"rule": "output_shape", "shape": ["B", 10]}])
    ... # doctest: +SKIP
    >>> assert report.passed, report.message()  # doctest: +SKIP
    """
    run = arguments.read(mode=mode, seed=seed, steps=steps)
    arguments.read(fail_on=fail_on)
    name, function = arguments.loss(loss)
    rules = None if rules is None else arguments.strings("rules", rules)
    if isinstance(model, str):
        from hookcli.api.by_name import check_named

        flags = {"loss": loss, **run, "rule": rules}
        report, level = check_named(model, config, inputs, flags, fail_on)
        return _checked(report, rules, level)
    configuration = _read(config)
    spec = _spec(model, configuration, {**run, "loss": name})
    if rules is not None:
        from hookcli.config.chosen_rules import only

        spec = only(spec, rules, "rules")
    _refuse_other_runs(spec)
    report = _run(model, inputs, spec, function)
    level = fail_on or (configuration.fail_on if configuration is not None else None) or "error"
    return _checked(report, rules, level)


def _read(config: Checks | None) -> Config | None:
    if config is None:
        return None
    from hookcli.config.from_python import as_document
    from hookcli.config.load import read_config, read_text
    from hookcli.spec.yaml import flow

    document = as_document(config)
    if document is None:
        return read_config(str(arguments.path("config", config)))
    return read_text(flow(document), "checks")


def _spec(model: nn.Module, configuration: Config | None, run: Mapping[str, Any]) -> Spec:
    from hookcli.torch_private import check_torch

    check_torch()
    from hookcli.config.merge import Flags, spec_of
    from hookcli.engine.loop.given_module import source_of

    return spec_of("check", configuration, Flags(model=source_of(model), run=run))


def _refuse_other_runs(spec: Spec) -> None:
    """Refuse rules that run another form of the model in processes of their own.

    Raises
    ------
    RequestError : there is one. Its row would be a skip, and a check that passes proves nothing.
    """
    from hookcli.errors import RequestError
    from hookcli.rules.compile_equal import RULE as COMPILED
    from hookcli.rules.parallel_equal import RULE as PARALLEL

    further = {PARALLEL.name, COMPILED.name}
    check_spec = next((one for one in spec.checks if one.rule in further), None)
    if check_spec is not None:
        raise RequestError(
            f"rule {check_spec.rule} starts processes, and requires a model by name",
            place=check_spec.place or "rules",
            hint="pass a string such as `net.py:Net` instead of a module, or remove the rule",
        )


def _run(model: nn.Module, inputs: Any, spec: Spec, loss: Callable[..., Any] | None) -> Any:
    from hookcli.api.live import run_live
    from hookcli.diagnosis.diagnose import with_verdict
    from hookcli.engine.rule_watchers import rule_watchers
    from hookcli.report.files import with_saved
    from hookcli.rules.judge import judge_report

    checks = tuple(with_saved(check_spec) for check_spec in spec.checks)
    report = run_live(
        model,
        inputs,
        spec,
        loss=loss,
        watchers=lambda batch, _recording: rule_watchers(spec, batch, loss),
    )
    return with_verdict(judge_report(report, checks, spec.suppressions))


def _checked(report: Any, rules: Sequence[str] | None, fail_on: FailOn) -> CheckedReport:
    values = {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}
    if rules is not None:
        values["checks"] = tuple(row for row in report.checks if row.rule in rules)
    return CheckedReport(**values, fail_on=fail_on)
