"""`eval_while_training` and `graphless_training`: train and eval mode are used as they are meant.

Dropout and batch normalization work differently in the two modes; other layers do not.
"""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.path_ends.end_rows import is_in
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.rules.rule import (
    Options,
    Rule,
    RuleFinding,
    RuleOption,
    not_a_training,
    passed,
    skipped,
    unseen,
)
from hookcli.rules.select import matches, modules_above, places
from hookcli.text import counted, join_names

_HIDDEN = "the calls of modules in compiled regions are not seen"
_SENSITIVE = ("Dropout", "BatchNorm")


def _in_train_mode(report: Report, training: TrainingInfo) -> tuple[str, ...]:
    """Return modules with dropout or batch normalization that ran in train mode."""
    if training.train_modules is not None:
        return training.train_modules
    names = (
        row.name
        for row in report.layers
        if row.training and row.name and any(word in row.type for word in _SENSITIVE)
    )
    return tuple(dict.fromkeys(names))


def _is_frozen(report: Report, module: str) -> bool:
    """Return whether the innermost part around a module with parameters has only frozen ones."""
    for part in (module, *modules_above(module)):
        states = [row.requires_grad for row in report.parameters if is_in(row.name, part)]
        if states and part:
            return not any(states)
    return False


def _named(names: list[str]) -> str:
    quoted = join_names([f"'{name}'" for name in names], 2)
    return quoted if len(names) > 1 else f"{quoted}, with dropout or batch normalization,"


def _eval(report: Report, options: Options) -> Iterator[RuleFinding]:
    training = report.training
    if training is None:
        yield not_a_training()
        return
    train = _in_train_mode(report, training)
    evaluated = [n for n in training.eval_modules if any(matches(g, n) for g in options["at"])]
    if not evaluated and not train:
        hidden = training.compiled or training.calls is None
        yield unseen(_HIDDEN) if hidden else skipped("no dropout and no batch normalization ran")
        return
    evaluated = [name for name in evaluated if not _is_frozen(report, name)]
    switched = [name for name in evaluated if name in train]
    others = [name for name in train if name not in evaluated]
    if not evaluated or (others and not switched):  # a part is in eval mode on purpose
        yield passed(f"{counted(len(train), 'module')} with dropout or batch norm in train mode")
        return
    modes = training.modes
    if modes is not None and not modes.called_in_eval:
        many = counted(len(evaluated), "module")
        yield passed(f"{many} in eval mode on purpose: the model itself is in train mode")
        return
    names = switched or evaluated
    verb = "runs" if len(names) == 1 else "run"
    message = f"{_named(names)} {verb} in eval mode while training {_when(training)}".rstrip()
    message += ", after train mode" if switched else ""
    first = modes.eval_spans[0][0] if modes is not None and modes.eval_spans else None
    where = places(report)
    yield RuleFinding(
        "fail", names[0], "eval", message, len(names), 0, where.get(names[0]),
        advice="call `model.train()` at the beginning of each epoch, after each evaluation",
        step=next(iter(training.eval_steps), None) if first is None else first,
    )  # fmt: skip


def _when(training: TrainingInfo) -> str:
    """Return in which steps modules were in eval mode, as far as it is known."""
    modes = training.modes
    if modes is None or not modes.eval_spans:
        return f"at step {training.eval_steps[0]:,}" if training.eval_steps else ""
    first, last = modes.eval_spans[0]
    if modes.eval_steps >= modes.steps:
        return f"in all {counted(modes.steps, 'step')}" if modes.steps > 1 else f"at step {first:,}"
    if len(modes.eval_spans) == 1 and last >= training.total - 1:
        return f"from step {first:,} on"
    return f"in {modes.eval_steps:,} of {counted(modes.steps, 'step')}, first at step {first:,}"


def _graphless(report: Report, options: Options) -> Iterator[RuleFinding]:
    training = report.training
    if training is None:
        yield not_a_training()
        return
    names = [
        name
        for name in _in_train_mode(report, training)
        if any(matches(glob, name) for glob in options["at"])
    ]
    graphless = training.graphless - (training.samples or 0)
    if not graphless:
        yield passed("no call under no_grad is in train mode")
    elif not names:
        yield skipped("no dropout and no batch normalization ran in train mode")
    elif training.together:
        yield skipped("parts that are trained in turn also run under no_grad in train mode")
    elif training.evaluations:
        yield passed(f"{counted(training.evaluations, 'evaluation')} in eval mode")
    elif training.unwatched:
        yield skipped("the calls between the watched steps are not known")
    else:
        message = (
            f"{counted(graphless, 'call')} under no_grad run in train mode, and none in "
            f"eval mode: {_named(names)} work as in training"
        )
        yield RuleFinding(
            "fail", names[0], "graphless", message, graphless, 0,
            places(report).get(names[0]),
            advice="call `model.eval()` before an evaluation, and `model.train()` after it",
        )  # fmt: skip


_AT = (RuleOption("at", "globs", "globs of module names", ("*",)),)

EVAL = Rule(
    name="eval_while_training",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="modes",
    says="dropout and batch normalization are in train mode while a model is trained",
    computes="Looks at the modules with dropout (p > 0) or batch normalization, in the forward of "
    "every step. Fails if all of them ran in eval mode, or if some ran in train mode first and in "
    "eval mode later. It is on purpose if some always are in eval mode and others are not, if "
    "their parameters are frozen, or if the module that the script calls is in train mode itself: "
    "then the script has set only its batch normalization, or a part of it, to eval mode.",
    formula="training is True, for each dropout and batch normalization in each step",
    source="torch.nn.Module.eval; a frequent mistake in PyTorch's forums",
    fails="model.eval() for the first validation, and no model.train() in the next epoch",
    mend="call model.train() at the beginning of each epoch",
    example='{rule: eval_while_training, at: "head.*"}',
    options=_AT,
    judge=_eval,
)

GRAPHLESS = Rule(
    name="graphless_training",
    severity="warning",
    of_training=True,
    every_step=True,
    looks_at="evaluations",
    says="a model is evaluated in eval mode",
    computes="Counts the calls of the model under torch.no_grad or inference_mode in train mode. "
    "Fails if there are some, none in eval mode, and the model has dropout (p > 0) or batch "
    "normalization, which then drops values, or learns from validation data. Skipped if several "
    "models are trained in turn: the generator of a GAN makes samples in this way.",
    formula="not (calls under no_grad in train mode > 0 and calls in eval mode = 0)",
    source="torch.nn.Module.eval; torch.autograd: no_grad does not change the mode of layers",
    fails="a validation loop under torch.no_grad() without model.eval()",
    mend="call model.eval() before an evaluation, and model.train() after it",
    example="{rule: graphless_training, severity: error}",
    options=_AT,
    judge=_graphless,
)
