"""`parameter_shape`: parameters, or the tensors of a file of weights, have the expected shape."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.report import Report
from hookcli.rules.rule import Options, Rule, RuleFinding, RuleOption, no_match, passed
from hookcli.rules.select import owner, parameters_at, places
from hookcli.rules.shapes import shape_text, why_not
from hookcli.text import counted


def judge(report: Report, options: Options) -> Iterator[RuleFinding]:
    """Yield a finding for each parameter with another shape."""
    wanted = options["shape"]
    limit = shape_text(wanted)
    rows = tuple(parameters_at(report, (options["at"],)))
    if not rows:
        yield no_match("parameter", options["at"])
        return
    where = places(report)
    names: dict[str, int] = {}
    healthy = True
    for row in rows:
        why = why_not(row.shape, wanted, names)
        if why:
            healthy = False
            message = f"{row.name} has shape {shape_text(row.shape)}: {why}"
            yield RuleFinding(
                "fail", row.name, "parameter shape", message, shape_text(row.shape), limit,
                where.get(owner(row.name)),
            )  # fmt: skip
    if healthy:
        known = ", ".join(f"{name} = {size}" for name, size in names.items())
        aside = f" ({known})" if known else ""
        yield passed(f"{counted(len(rows), 'parameter')} of shape {limit}{aside}", limit=limit)


RULE = Rule(
    name="parameter_shape",
    severity="error",
    says="parameters have the expected shape",
    computes="Compares the shape of each parameter, or of each tensor in a file of weights, with "
    "the given one. A name in the shape stands for a size that is equal wherever it occurs.",
    formula="shape = expected",
    source="the figures of `torch.nn.Module.state_dict`",
    fails="a vocabulary that was resized in the embedding and not in the head",
    mend="build or convert the model with the sizes of the check, or change the check",
    example="{rule: parameter_shape, at: '*.q_proj.weight', shape: [H, H]}",
    options=(
        RuleOption("at", "glob", "glob of parameter names", "*"),
        RuleOption(
            "shape", "shape", "[V, 64]: sizes, '*' for any size, names for equal sizes",
            required=True,
        ),
    ),
    judge=judge,
)  # fmt: skip
