"""Every probe, in one table without torch: what rules can require of a run beyond its rows.

A run, `explain`, docs/reference/rules.md and the check of a saved report read this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Way(Enum):
    """How a probe measures."""

    PART = "the plan of the run contains it"
    OBSERVES = "observes the run"
    READS = "reads the request"
    RERUNS = "runs the model again after the run, from the same state"
    SEPARATE = "a run of its own"


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe. A request of a rule names it, with options if it has any.

    `function` is "file:function" below hookcli/engine/probes. It is called once with all requests
    of the probes that name it, at the place of the first of these rows. The file
    hookcli/engine/probes/probes.py has the arguments and results of each way. `results` has the
    types of the measurements, by their names in a report, as "file:type" below
    hookcli/report/measured.
    """

    name: str
    cost: str  # in `hookcli explain RULE`
    way: Way
    function: str = ""
    results: Mapping[str, str] = field(default_factory=dict)
    repeats_batch: bool = False  # it runs the model twice with the batch of the run
    trains: bool = False  # it trains the model from the state before the run
    for_lost: bool = False  # it runs only if a parameter got no gradient or only zeros
    after: str = ""  # it runs only if this probe, which observes, measured something
    of_failure: bool = False  # it also runs if the output of the run did not require grad


_REPEATED = "runs:REPEATED"

_ROWS = (
    Probe("backward", "a backward pass", Way.PART),
    Probe("flops", "a count of the operators", Way.PART),
    Probe(
        "values",
        "a check of every value and gradient during the run",
        Way.OBSERVES,
        "non_finite:observe",
        {"values_read": "values:COUNT", "non_finite": "values:non_finite"},
    ),
    Probe(
        "activations",
        "a look at a few values of each activation, and at all that are suspicious",
        Way.OBSERVES,
        "activations.observer:observe",
        {"activations_read": "values:ActivationsRead"},
    ),
    Probe(
        "spreads",
        "a look at the outputs of linear layers and convolutions during the run",
        Way.OBSERVES,
        "activations.ranges:observe_spreads",
    ),
    Probe(
        "ranges",
        "a look at every output, parameter and gradient during the run",
        Way.OBSERVES,
        "activations.ranges:observe_ranges",
    ),
    Probe(
        "loss_terms",
        "the terms of the loss, read from its autograd graph",
        Way.OBSERVES,
        "trainability.loss_graph:observe",
        {"loss_terms": "trainability:LossTerm"},
    ),
    Probe(
        "loss_inputs",
        "what the loss is computed from, read from its autograd graph",
        Way.OBSERVES,
        "trainability.loss_graph:observe",
        {"loss_inputs": "trainability:LossInput"},
    ),
    Probe(
        "loss_values",
        "the arguments of loss functions and distributions, and the autograd graph of the loss",
        Way.OBSERVES,
        "losses.loss_values:observe",
        {"loss_values": "trainability:LOSS_VALUES"},
    ),
    Probe(
        "function_arguments",
        "the arguments of functions, the settings of modules, and the autograd graph",
        Way.OBSERVES,
        "losses.loss_values:observe",
        {"function_arguments": "trainability:LOSS_VALUES"},
    ),
    Probe(
        "loss_broadcasts",
        "the shapes that the loss compares, read from its autograd graph",
        Way.OBSERVES,
        "trainability.shapes.graph_shapes:observe",
        {"loss_broadcasts": "trainability:ShapePair"},
    ),
    Probe(
        "reshaped_axes",
        "the shapes of views, read from the autograd graph",
        Way.OBSERVES,
        "trainability.shapes.graph_shapes:observe",
        {"reshaped_axes": "trainability:ShapePair"},
    ),
    Probe(
        "class_dimension",
        "the shapes of logits, read from the autograd graph",
        Way.OBSERVES,
        "trainability.shapes.graph_shapes:observe",
        {"class_dimension": "trainability:ShapePair"},
    ),
    *(
        Probe(
            name,
            cost,
            Way.OBSERVES,
            "trainability.patterns.graph_patterns:observe",
            {name: f"trainability:{result}"},
        )
        for name, cost, result in (
            ("softmax_axes", "the softmaxes in the autograd graph", "SoftmaxAxes"),
            ("linear_chains", "the linear layers in the autograd graph", "LinearChain"),
            ("single_norms", "the norms in the autograd graph", "SingleNorm"),
            ("loss_sums", "the sums in the loss, read from its autograd graph", "SUMS"),
            ("self_similarities", "the losses in the autograd graph", "SelfSimilarity"),
            ("masked_shares", "the softmaxes in the autograd graph", "MaskedShares"),
            ("scaled_shares", "the softmaxes in the autograd graph", "ScaledShares"),
            ("sharp_scores", "the softmaxes in the autograd graph", "SharpScores"),
            ("weak_masks", "the softmaxes in the autograd graph", "WeakMask"),
            ("unequal_scales", "the softmaxes in the autograd graph", "UnequalScales"),
            ("narrow_units", "the linear layers in the autograd graph", "NarrowUnit"),
            ("equal_choices", "the gathers in the autograd graph", "EqualChoice"),
            ("pooled_padding", "the means in the autograd graph", "PooledPaddingRow"),
            ("relu_outputs", "the operator that makes the output", "ReluOutput"),
            ("rotary_axes", "the rotary embeddings in the autograd graph", "RotaryAxis"),
            ("self_sums", "the sums in the autograd graph", "SelfSum"),
            ("changed_shortcuts", "the activations that work in place", "ChangedShortcut"),
            ("half_values", "the dtypes in the autograd graph", "HALVES"),
            ("norm_dimensions", "the norms in the autograd graph", "NormDimension"),
            ("custom_functions", "the custom Functions in the autograd graph", "FUNCTIONS"),
        )
    ),
    Probe(
        "pooled_channels",
        "the means in the autograd graph",
        Way.OBSERVES,
        "trainability.layer_graph:observe",
        {"pooled_channels": "trainability:PooledChannels"},
    ),
    Probe(
        "reused_layers",
        "the lines that call layers, and the autograd graph",
        Way.OBSERVES,
        "trainability.layer_graph:observe",
        {"reused_layers": "trainability:ReusedLayer"},
    ),
    *(
        Probe(
            name,
            cost,
            Way.OBSERVES,
            "trainability.loss_formulas:observe",
            {name: f"trainability:{result}"},
        )
        for name, cost, result in (
            ("logit_activations", "the softmaxes in the autograd graph", "LogitActivation"),
            ("noise_scales", "the terms of the loss, read from its autograd graph", "NoiseScale"),
            ("loss_signs", "the terms of the loss, read from its autograd graph", "SignedTerm"),
            ("token_targets", "a comparison of targets with the batch", "TokenTargets"),
        )
    ),
    Probe(
        "shared_memory",
        "a comparison of the memory of parameters",
        Way.OBSERVES,
        "trainability.shared_memory:observe",
        {"shared_memory": "trainability:shared_memory"},
    ),
    Probe(
        "module_settings",
        "a look at the attributes of modules before the run",
        Way.OBSERVES,
        "module_settings:observe",
        {"module_settings": "runs:ModuleSettings"},
    ),
    Probe(
        "unregistered",
        "a look at the leaves of the autograd graph",
        Way.OBSERVES,
        "trainability.unregistered:observe",
        {"unregistered": "trainability:Unregistered"},
    ),
    *(
        Probe(name, cost, Way.OBSERVES, "module_values:observe", {name: f"trainability:{result}"})
        for name, cost, result in (
            ("batch_norms", "a look at the batch norms that ran", "BatchNormState"),
            ("trained_masks", "a look at corners of square parameters", "TrainedMask"),
            ("equal_units", "a look at two rows of each weight", "EqualUnits"),
            ("frozen_norms", "a look at the batch norms that ran", "FrozenNorm"),
            ("padding_vectors", "a look at the inputs of embeddings", "PaddingVector"),
            ("inverted_masks", "a look at the masks of attentions", "InvertedMask"),
            ("high_dropout", "a look at the dropout layers that ran", "HighDropout"),
            ("position_tensors", "a look at the names of tensors", "PositionTensor"),
            ("position_tables", "a look at the values of buffers", "PositionTable"),
            ("open_decoders", "a look at the masks of decoders", "OpenDecoder"),
            ("padded_inputs", "a look at the inputs of the model", "PaddedInput"),
        )
    ),
    *(
        Probe(
            name,
            "a look at the source of the classes that ran",
            Way.OBSERVES,
            "code.user_code:observe",
            {name: f"runs:{result}"},
        )
        for name, result in (
            ("discarded_results", "DiscardedResult"),
            ("module_backwards", "ModuleBackward"),
            ("unread_inputs", "UnreadInput"),
            ("repeated_modules", "RepeatedModule"),
            ("unread_settings", "UnreadSetting"),
            ("batch_positions", "BatchPositions"),
            ("last_steps", "LastSteps"),
            ("log_variances", "LogVariance"),
            ("code_mistakes", "CodeMistake"),
            ("causal_code", "CausalCode"),
            ("squeezes", "Squeeze"),
        )
    ),
    Probe(
        "clipping",
        "a list of the hooks that clip",
        Way.READS,
        "trainability.clipping_hooks:clipping_hooks",
        {"clipping": "trainability:ClippingHook"},
    ),
    Probe(
        "repeat_eval",
        "two additional forwards in eval mode, and a third if they draw random numbers",
        Way.RERUNS,
        "determinism:repeat_in_eval",
        {"repeat_eval": _REPEATED, "eval_dropout": "trainability:EvalDropout"},
        repeats_batch=True,
    ),
    Probe(
        "repeat_train",
        "two additional forwards and backwards in train mode",
        Way.RERUNS,
        "determinism:repeat_in_train",
        {"repeat_train": _REPEATED},
        repeats_batch=True,
    ),
    Probe(
        "samples",
        "two to six additional forwards in eval mode, with copies of one sample",
        Way.RERUNS,
        "samples.batch_independence:measure",
        {"samples": "runs:SAMPLES"},
        repeats_batch=True,
    ),
    Probe(
        "step",
        "one additional forward, backward and optimizer step",
        Way.RERUNS,
        "optimizer_step:measure",
        {"step": "trainability:step"},
    ),
    Probe(
        "cuts",
        "one additional forward, and sometimes a backward, that follow gradients",
        Way.RERUNS,
        "gradients.cuts:measure",
        {"cuts": "gradient_path:CUTS", "connected": "gradient_path:CONNECTED"},
        of_failure=True,
    ),
    Probe(
        "unreached",
        "the same, only if a parameter got no gradient or only zeros",
        Way.RERUNS,
        "gradients.cuts:measure",
        {"unreached": "gradient_path:unreached"},
        for_lost=True,
        of_failure=True,
    ),
    Probe(
        "other_routes",
        "up to nine additional forwards with other random numbers, and three with other inputs; "
        "only if a parameter got no gradient and its module never ran",
        Way.RERUNS,
        "other_routes:measure",
        {"other_routes": "runs:OTHER_ROUTES"},
        repeats_batch=True,
        for_lost=True,
    ),
    Probe(
        "later_gradients",
        "up to four training steps, only if a parameter got a gradient of zeros",
        Way.RERUNS,
        "gradients.later_gradients:measure",
        {"later_gradients": "trainability:LATER_GRADIENTS"},
        repeats_batch=True,
        trains=True,
        for_lost=True,
    ),
    Probe(
        "zero_reasons",
        "one additional forward and backward, only if a parameter got a gradient of zeros",
        Way.RERUNS,
        "gradients.zero_reasons:measure",
        {"zero_reasons": "gradient_path:zero_reason"},
        repeats_batch=True,
        for_lost=True,
    ),
    Probe(
        "function_gradients",
        "one additional forward, and calls of each autograd Function in the user's code",
        Way.RERUNS,
        "gradients.function_gradients:measure",
        {"function_gradients": "gradient_path:FUNCTION_GRADIENT"},
        repeats_batch=True,
        after="custom_functions",
    ),
    Probe(
        "kept_tensors",
        "a comparison of attributes before and after the run",
        Way.OBSERVES,
        "call_state:observe",
        {"kept_tensors": "runs:KEPT"},
    ),
    Probe(
        "changed_inputs",
        "a look at the versions of the inputs",
        Way.OBSERVES,
        "call_state:observe",
        {"changed_inputs": "runs:CHANGED_INPUTS"},
    ),
    Probe(
        "call_state",
        "three additional forwards in eval mode, only if an attribute with tensors changed",
        Way.RERUNS,
        "call_state:measure",
        {"call_state": "runs:CALL_STATE"},
        repeats_batch=True,
        after="kept_tensors",
    ),
    Probe(
        "idle_terms",
        "one additional forward that follows gradients, only if a term of the loss has none",
        Way.RERUNS,
        "gradients.cuts:measure_terms",
        {"idle_terms": "gradient_path:TERM"},
        after="loss_sums",
    ),
    Probe(
        "per_sample",
        "three additional forwards, and a backward for each sample (for `grads --per-sample`)",
        Way.RERUNS,
        "samples.per_sample:measure",
        {"per_sample": "runs:PER_SAMPLE"},
    ),
    Probe(
        "grown",
        "one additional forward in eval mode with one more sample (for snapshots)",
        Way.RERUNS,
        "samples.batch_growth:measure",
    ),
    Probe(
        "eval_forward",
        "one additional forward in eval mode",
        Way.RERUNS,
        "trainability.eval_forward:measure",
        {"eval_forward": "trainability:EVAL_FORWARD"},
        repeats_batch=True,
    ),
    Probe(
        "update",
        "one additional forward, backward and optimizer step",
        Way.RERUNS,
        "trainability.update:measure",
        {"update": "trainability:update"},
        repeats_batch=True,
        trains=True,
    ),
    Probe(
        "overfit",
        "training on one batch: a forward, backward and optimizer step, many times",
        Way.RERUNS,
        "trainability.overfit:measure",
        {"overfit": "trainability:OVERFIT"},
        repeats_batch=True,
        trains=True,
    ),
    Probe(
        "later_positions",
        "two additional forwards in eval mode for each input, only if code or loss are causal",
        Way.RERUNS,
        "trainability.order_of_time:later",
        {"later_positions": "trainability:LATER"},
        repeats_batch=True,
        after="causal_code",
    ),
    Probe(
        "position_effect",
        "one to five additional forwards in eval mode, only if tensors of positions exist",
        Way.RERUNS,
        "trainability.order_of_time:effect",
        {"position_effect": "trainability:POSITION_EFFECT"},
        repeats_batch=True,
        after="position_tensors",
    ),
    Probe(
        "padding_effect",
        "one additional forward in eval mode, only if samples end with padding",
        Way.RERUNS,
        "samples.padding:measure",
        {"padding_effect": "trainability:PADDING_EFFECT"},
        repeats_batch=True,
        after="padded_inputs",
    ),
    Probe(
        "half_overflow",
        "one additional forward, only if operators compute in float16",
        Way.RERUNS,
        "trainability.half_overflow:measure",
        {"half_overflow": "trainability:HALF_OVERFLOW"},
        repeats_batch=True,
        after="half_values",
    ),
    Probe(
        "one_sample",
        "one to three additional forwards in eval mode, only if the code calls `squeeze()`",
        Way.RERUNS,
        "samples.single:measure",
        {"one_sample": "runs:ONE_SAMPLE"},
        repeats_batch=True,
        after="squeezes",
    ),
    Probe(
        "causality",
        "six additional forwards in eval mode, with other values at later times",
        Way.RERUNS,
        "trainability.causality:measure",
        {"causality": "trainability:CAUSALITY"},
        repeats_batch=True,
    ),
    Probe(
        "first_non_finite",
        "a second run of the step, only if a value is not finite",
        Way.SEPARATE,
    ),
    Probe(
        "neutral",
        "two additional runs without hooks, each in a process of its own",
        Way.SEPARATE,
    ),
    Probe(
        "parallel_equal",
        "a run of the model, and one of its plan on ranks, each in processes of their own",
        Way.SEPARATE,
        results={"parallel_equal": "other_run:PlanCompared"},
    ),
    Probe(
        "compile_equal",
        "a run of the model, and eager and compiled runs of it in a process of their own",
        Way.SEPARATE,
        results={"compile_equal": "other_run:CompiledCompared"},
    ),
)

PROBES: dict[str, Probe] = {row.name: row for row in _ROWS}
