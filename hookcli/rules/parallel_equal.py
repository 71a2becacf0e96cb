"""`parallel_equal`: a parallel plan computes what the model computes on one process."""

from __future__ import annotations

from hookcli.rules.other_run import OtherRun
from hookcli.rules.rule import Rule, RuleOption

RUN = OtherRun(
    probe="parallel_equal",
    keys=("plan", "mesh"),
    unrun="no ranks ran the plan: only `hookcli check` starts them",
    advice="run `hookcli diff` with the plan for the tensors of each layer",
)


RULE = Rule(
    name="parallel_equal",
    severity="error",
    says="a parallel plan has the outputs and gradients of the model on one process",
    computes="Runs the model once, and its plan on gloo ranks of this machine, with the same "
    "weights and batch, in eval mode. What the ranks have is joined; outputs, values and gradients "
    "of parameters are compared. The first layer or parameter that differs is named.",
    formula="|joined - reference| / |reference| <= tolerance",
    source="torch.distributed.tensor: full_tensor defines the whole of what ranks have",
    fails="a norm that is left out of a sequence parallel plan, whose gradients nothing sums up; a "
    "reduction that is missing or done twice",
    mend="add the module to the plan, or correct the placements of its inputs and outputs",
    example="{rule: parallel_equal, plan: 'plan.py:apply', mesh: 'tp:2'}",
    options=(
        RuleOption(
            "plan", "function", "apply(model, mesh), which returns the model", required=True
        ),
        RuleOption("mesh", "mesh", "the dimensions of the mesh with their sizes", required=True),
        RuleOption("tolerance", "number", "largest relative difference"),
    ),
    needs=RUN.requests,
    judge=RUN.judge,
)
