"""`compile_equal`: the compiled model computes what the eager model computes."""

from __future__ import annotations

from hookcli.rules.other_run import OtherRun
from hookcli.rules.rule import Rule, RuleOption

RUN = OtherRun(
    probe="compile_equal",
    keys=("backend", "mode"),
    unrun="nothing was compiled: only `hookcli check` compiles the model",
    advice="run `hookcli diff MODEL 'MODEL?compile=BACKEND'` for the tensors of each layer",
)


RULE = Rule(
    name="compile_equal",
    severity="error",
    says="the compiled model has the outputs and gradients of the eager one",
    computes="Runs the model eagerly and compiled, with the same weights, batch and seed, in eval "
    "mode. Outputs, gradients and buffers are compared. A difference counts if it is beyond the "
    "tolerance, and beyond ten times what rounding noise and the error against float64 explain. "
    "The first layer that differs is named.",
    formula="|compiled - eager| / |eager| > max(tolerance, 10 * noise, 10 * |eager - float64|)",
    source="torch.compile; stochastic arithmetic: Vignes 2004, doi:10.1023/B:NUMA.0000049483.75679"
    ".ce",
    fails="a branch on torch.compiler.is_compiling() that computes something else; a custom "
    "operator or a backend that is wrong",
    mend="look at the layer that is named; `aot_eager` tells the graph from inductor",
    example="{rule: compile_equal, backend: aot_eager}",
    options=(
        RuleOption("backend", "word", "a backend of torch.compile, or file.py:function",
                   required=True),
        RuleOption("mode", "word", "a mode of torch.compile, such as max-autotune"),
        RuleOption("tolerance", "number", "largest relative difference"),
    ),
    needs=RUN.requests,
    judge=RUN.judge,
)  # fmt: skip
