"""`hookcli.check`: a live module, or one that is named, judged by rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookcli.api.api import PrintableReport

if TYPE_CHECKING:
    import os

    import torch
    from torch import nn

    from hookcli.config.config import Config
    from hookcli.report.findings import CheckRow
    from hookcli.rules.verdict import FailOn
    from hookcli.spec.checks import CheckSpec
    from hookcli.spec.request import Mode, Spec

    Loss = str | Callable[[Any], torch.Tensor]
    Checks = str | os.PathLike[str] | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedReport(PrintableReport):
    """A report that was judged: its `checks` have a row for each finding, and each rule passed."""

    fail_on: FailOn = "error"

    @property
    def passed(self) -> bool:
        """Whether nothing was found that counts, and every rule could be judged."""
        from hookcli.rules.verdict import Verdict, verdict_of

        return verdict_of(self, self.fail_on) is Verdict.PASSED

    @property
    def findings(self) -> tuple[CheckRow, ...]:
        """What failed, and what could not be judged, the worst first."""
        from hookcli.formats.check.rows import rank

        told = (row for row in self.checks if row.status in {"fail", "error"})
        return tuple(sorted(told, key=rank))

    def message(self) -> str:
        """How it went, and what was found, as the message of a failed test."""
        from hookcli.formats.check.table import message
        from hookcli.formats.view import View

        return message(self, View(fail_on=self.fail_on))

    def __str__(self) -> str:
        from hookcli.console import Console
        from hookcli.formats.registry import FORMATS
        from hookcli.formats.view import View

        console = Console()
        view = View(width=console.width(), unicode=console.unicode(), fail_on=self.fail_on)
        return FORMATS["table"](self, view)


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
    """Judge a model by rules, as `hookcli check` does.

    >>> report = hookcli.check(model, [{"rule": "output_shape", "shape": ["B", 10]}])
    ... # doctest: +SKIP
    >>> assert report.passed, report.message()  # doctest: +SKIP

    A live module is afterwards bitwise what it was, gradients included; see `inspect`.

    Parameters
    ----------
    model : a module, on any device; or what MODEL is on the command line ("net.py:Net"), which
        runs in a process of its own.
    config : a configuration file, such as `hookcli snapshot` writes; or what stands there under
        `checks`, as a list of rules' names and mappings; or a mapping with `checks`, `suppress`
        and the like. None is the safe set alone.
    inputs : a tuple is positional arguments, a mapping keyword ones, anything else one argument.
        None takes the configuration's, else what the model declares. For a model by name: texts,
        as of `--input`.
    rules : the names of the rules to judge by, of the safe set and the configuration; None is all.
    loss, steps, mode, seed : as in `grads`.
    fail_on : which findings make it fail; None is the configuration's, else "error".

    Raises
    ------
    RequestError : there is no batch, or it does not bind to forward; the configuration is wrong,
        or does not fit the model.
    ModelError : a model by name could not be built.
    """
    if isinstance(model, str):
        from hookcli.api.by_name import check_named

        flags = {"loss": loss, "steps": steps, "mode": mode, "seed": seed}
        report, level = check_named(model, config, inputs, flags, fail_on)
        return _checked(report, rules, level)
    held = _read(config)
    spec, text = _spec(model, held, loss, steps=steps, mode=mode, seed=seed)
    spec = _only(spec, rules)
    report = _run(model, inputs, spec, None if text else loss)
    level = fail_on or (held.fail_on if held is not None else None) or "error"
    return _checked(report, rules, level)


def _read(config: Checks | None) -> Config | None:
    if config is None:
        return None
    from hookcli.config.from_python import as_document
    from hookcli.config.load import read_config, read_text
    from hookcli.spec.yaml import flow

    document = as_document(config)
    return read_config(str(config)) if document is None else read_text(flow(document), "checks")


def _spec(model: nn.Module, held: Config | None, loss: Loss, **run: Any) -> tuple[Spec, str | None]:
    from hookcli.api.live import source_of
    from hookcli.config.merge import Flags, spec_of

    text = loss if isinstance(loss, str) else None
    asked = None if text == "probe" else text
    flags = Flags(model=source_of(model), run={**run, "loss": asked})
    return spec_of("check", held, flags), text


def _only(spec: Spec, names: Sequence[str] | None) -> Spec:
    """The request with the checks of these rules alone; one that is not asked for is added.

    Raises
    ------
    RequestError : there is no such rule, or it has to be told more.
    """
    if names is None:
        return spec
    from hookcli.rules.catalogue import probes_of

    checks: list[CheckSpec] = []
    for name in dict.fromkeys(names):
        checks += [item for item in spec.checks if item.rule == name] or [_bare(name)]
    suppressions = tuple(item for item in spec.suppressions if item.rule in names)
    return dataclasses.replace(
        spec, checks=tuple(checks), suppressions=suppressions, probes=probes_of(tuple(checks))
    )


def _bare(name: str) -> CheckSpec:
    from hookcli.errors import RequestError
    from hookcli.rules.catalogue import CATALOGUE
    from hookcli.spec.checks import CheckSpec
    from hookcli.text import nearest, try_instead

    rule = CATALOGUE.get(name)
    if rule is None:
        raise RequestError(
            f"unknown rule '{name}'",
            place="rules",
            hint=try_instead(nearest(name, CATALOGUE), "run `hookcli list rules`"),
        )
    needed = [option.name for option in rule.options if option.required]
    if needed:
        raise RequestError(
            f"rule '{name}' requires {' and '.join(needed)}",
            place="rules",
            hint=f"add it to the checks: `{rule.example}`",
        )
    return CheckSpec(name)


def _run(model: nn.Module, inputs: Any, spec: Spec, loss: Loss | None) -> Any:
    from hookcli.api.live import run_live
    from hookcli.report.files import with_saved
    from hookcli.rules.judge import judge_report
    from hookcli.run.probes.probes import Probes

    checks = tuple(with_saved(check_spec) for check_spec in spec.checks)
    function = None if isinstance(loss, str) else loss
    probes = Probes(spec, function)
    report = run_live(model, inputs, spec, loss=function, probes=probes)
    return judge_report(report, checks, spec.suppressions)


def _checked(report: Any, rules: Sequence[str] | None, fail_on: FailOn) -> CheckedReport:
    values = {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}
    if rules is not None:
        values["checks"] = tuple(row for row in report.checks if row.rule in rules)
    return CheckedReport(**values, fail_on=fail_on)
