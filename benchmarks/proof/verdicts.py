"""What was seen where `hookcli check` found something: (model, rule, target) as globs → why.

"true": it is so, and its author would want to know. "meant": it is so, and the architecture wants
it. "false": it is not so. A model of the zoo has its fault on purpose: "fault".
"""

from __future__ import annotations

from fnmatch import fnmatchcase

_EXPERT = "its expert got no row of this batch, which its author has to know to be meant"
_SMALL = "images of 32 pixels are 1 x 1 in the last stage"
_GLOBAL = "runs where global_attention_mask marks a token, and none was given"
_SKIPPED = "forward leaves it out at random, in train mode"

VERDICTS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("detector", "grad_exists", "mask_head"): ("true", "a head that forward never calls"),
    ("detector", "uncalled_modules", "mask_head"): ("true", "a head that forward never calls"),
    ("siamese", "uncalled_modules", "left.encoder.norm"): (
        "meant", "one encoder for both branches: its BatchNorm sees each of them, in turn",
    ),
    ("xlnet", "grad_exists", ""): (
        "meant", "mask_emb is the query of a second stream, which target_mapping asks for",
    ),
    ("xlnet", "grad_exists", "layer.*"): (
        "meant", "biases of segments, which are used where token_type_ids are given",
    ),
    ("led", "grad_exists", "encoder.layers.*_global"): ("meant", _GLOBAL),
    ("led", "uncalled_modules", "encoder.layers.*_global"): ("meant", _GLOBAL),
    ("dinov2", "grad_exists", "embeddings"): (
        "meant", "mask_token is used where bool_masked_pos is given, in pretraining",
    ),
    ("mobilenet_v2", "grad_exists", "layer.1?.reduce_1x1.normalization"): (
        "true", f"{_SMALL}: BatchNorm over 2 values gives 1 and -1, whatever comes before",
    ),
    ("poolformer", "grad_exists", "encoder.block.3.0*"): (
        "true", f"{_SMALL}: pooling less its input is 0 there",
    ),
}  # fmt: skip

FAULTS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("out_lazy_generator", "uncalled_modules", "fc"): ("fault", "a generator that nobody reads"),
    ("out_callables", "uncalled_modules", "fc"): ("fault", "returned, and not called"),
    ("in_none_at_all", "grad_exists", "fc"): ("true", "what it takes is a parameter of zeros"),
    ("tensor_low_precision", "grad_exists", "*"): ("fault", "its output goes through an argmax"),
    ("tensor_zero_elements", "grad_exists", "fc"): ("fault", "a batch of no samples"),
    ("tensor_inference_and_meta", "finite", ""): ("fault", "it returns x / 0"),
    ("flow_data_dependent", "uncalled_modules", "experts.2"): ("true", _EXPERT),
    ("flow_exception_caught", "grad_exists", "fast"): ("fault", "its own result never comes out"),
    ("flow_grad_modes", "grad_exists", "teacher"): ("fault", "runs under no_grad"),
    ("grad_under_no_grad", "batch_independent", ""): (
        "fault", "it learns from the batch before it answers",
    ),
    ("func_grad_child", "grad_exists", "*"): ("true", "a bias has no part in a derivative"),
    ("func_ensemble", "grad_exists", ""): ("true", "copies of its weights are run, not they"),
    ("call_patched_forward", "grad_exists", "1"): ("fault", "forward is replaced by one without"),
    ("func_ensemble", "uncalled_modules", "members.*"): (
        "meant", "its weights are stacked, and run by another module",
    ),
    ("call_overridden", "*", "bare*"): ("fault", "its call leaves forward out"),
    ("hook_with_kwargs", "batch_independent", ""): (
        "fault", "a hook scales all samples by an element of the first",
    ),
    ("name_500_siblings", "grad_exists", "*"): ("true", "a ReLU behind it is dead"),
    ("param_lazy", "*", "unused"): ("fault", "never called"),
    ("state_batch_norm_training", "batch_independent", ""): (
        "fault", "a BatchNorm that stays in train mode",
    ),
    ("state_batch_norm_training", "grad_exists", "norm"): (
        "true", "the BatchNorm behind it takes any bias away; rounding may leave 1e-9 of it",
    ),
    ("state_kv_cache", "grad_exists", "out"): ("fault", "its output goes through an argmax"),
    ("state_python_counter", "*", "blocks.?"): ("meant", "one block in each forward, in turn"),
    ("attn_generate", "grad_exists", "blocks.1.out"): (
        "fault", "tokens are drawn from it by an argmax",
    ),
    ("attn_two_towers", "grad_exists", "text"): (
        "true", "its features are all the same, and normalised: no direction is left to change",
    ),
    ("vision_squeeze_excite", "grad_exists", "gate"): ("fault", "detached"),
    ("mix_actor_critic", "grad_exists", "core"): ("true", "the state begins as zeros"),
    ("mix_adapters", "uncalled_modules", "2.0.base_layer.lora_?.default"): (
        "meant", "an adapter of scale 0 is left out",
    ),
    ("mix_stochastic_depth", "*", "layers.?"): ("meant", _SKIPPED),
}  # fmt: skip


def verdict_of(name, row):
    """(word, why) of a finding, or None where nobody looked at it."""
    for (model, rule, target), said in {**VERDICTS, **FAULTS}.items():
        if all(map(fnmatchcase, (name, row["rule"], row["target"]), (model, rule, target))):
            return said
    return None
