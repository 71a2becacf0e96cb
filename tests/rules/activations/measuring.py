"""What the probe `activations` measures of a model, and the verdict about one."""

from __future__ import annotations

import hookcli
from hookcli.api.live import run_live
from hookcli.run.probes.activations.observer import ActivationObserver
from hookcli.spec.request import ModelSpec, Spec


def measure(model, batch, kind, command="grads", *, exact=True):
    """The values of the rows of a kind; every activation is read."""
    rows, observers = [], []

    def observe(_recording):
        observers.append(ActivationObserver(rows, exact=exact))
        return observers

    report = run_live(model, batch, Spec(command, ModelSpec("")), observers=observe)
    assert report.error is None, report.error
    observers[0].complete()
    return [row.value for row in rows if row.probe == kind]


def found(model, batch, command=hookcli.grads):
    """(cause, target) of each diagnosis."""
    return [(one.cause, one.target) for one in command(model, batch).diagnoses]


def sentence(model, batch, cause):
    """The sentence about a cause, and its advice."""
    [one] = [one for one in hookcli.grads(model, batch).diagnoses if one.cause == cause]
    return one.sentence, one.advice
