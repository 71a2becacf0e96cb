"""The probes for rules about training that run the model again, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from hookcli.report.findings import Measurement
from hookcli.run.probes.rerun import Rerun
from hookcli.run.probes.training.causality import causality
from hookcli.run.probes.training.eval_forward import eval_forward
from hookcli.run.probes.training.overfit import overfit
from hookcli.run.probes.training.update import update
from hookcli.spec.request import Spec

# From the state, the options of the rule (JSON after the probe's name) and the request.
Probe: TypeAlias = Callable[[Rerun, dict[str, Any], Spec], list[Measurement]]


def _update(again: Rerun, _options: dict[str, Any], spec: Spec) -> list[Measurement]:
    if spec.run.optimizer is None:
        return _one("update", {"why": "the run has no optimizer: set `run.optimizer`"})
    return update(again, spec.run.optimizer)


def _one(name: str, value: Any) -> list[Measurement]:
    return [Measurement(name, "", None, value, None)]


FURTHER: dict[str, Probe] = {
    "eval_forward": lambda again, _options, _spec: _one("eval_forward", eval_forward(again)),
    "update": _update,
    "overfit": lambda again, options, spec: _one(
        "overfit", {**overfit(again, spec.run.optimizer, **options), "options": options}
    ),
    "causality": lambda again, options, _spec: _one(
        "causality", {**causality(again, **options), "options": options}
    ),
}

# Those that train the model as it was before the run, in which an optimizer may have stepped.
FROM_THE_START = {"update", "overfit"}


def options_of(argument: str) -> dict[str, Any]:
    """Return the options that a rule wrote after the probe's name; see `Rule.needs`."""
    options: dict[str, Any] = json.loads(argument or "{}")
    return options
