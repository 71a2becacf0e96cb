"""What the probe `activations` measures of a model, and the verdict about one."""

from __future__ import annotations

import hookcli
from hookcli.api.live import run_live
from hookcli.engine.probes.activations.observer import ActivationObserver
from hookcli.spec.request import ModelSpec, Spec


def measure(model, batch, kind, command="grads", *, exact=True):
    """The values of the rows of a kind; every activation is read."""

    def watchers(_batch, _recording):
        return [ActivationObserver([], exact=exact)]

    report = run_live(model, batch, Spec(command, ModelSpec("")), watchers=watchers)
    assert report.error is None, report.error
    return [row.value for row in report.measurements if row.probe == kind]


def found(model, batch, command=hookcli.grads):
    """(cause, target) of each diagnosis."""
    return [(one.cause, one.target) for one in command(model, batch).diagnoses]


def failing(model, batch):
    """The rules of each diagnosis."""
    return {rule for one in hookcli.grads(model, batch).diagnoses for rule in one.rules}


def sentence(model, batch, cause):
    """The sentence about a cause, and its advice."""
    [one] = [one for one in hookcli.grads(model, batch).diagnoses if one.cause == cause]
    return one.sentence, one.advice
