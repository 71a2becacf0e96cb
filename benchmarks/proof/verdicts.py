"""The verdicts on sentences of `hookcli check`: (model, cause, target) as globs → verdict and why.

"true": the finding is correct, and the model's author would want to know. "meant": it is correct,
but the architecture intends it. "false": it is not correct. "fault": a fault that a model of the
zoo has on purpose.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

_EXPERT = "its expert got no row of this batch; only the author knows whether this is intended"
_SMALL = "images of 32 pixels are 1 x 1 in the last stage"
_GLOBAL = "runs only if global_attention_mask marks a token, and no mask was given"
_SKIPPED = "forward skips it at random in train mode"
_ONE_STEP = "one time step from an initial state of zeros, so this weight is not used yet"

VERDICTS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("call_made_in_forward", "dropout_in_eval", ""): (
        "true", "a dropout that is made in forward is in train mode, whatever the model is",
    ),
    ("detector", "grad_exists", "mask_head"): ("true", "a head that forward never calls"),
    ("detector", "uncalled_modules", "mask_head"): ("true", "a head that forward never calls"),
    ("xlnet", "grad_exists", ""): (
        "meant", "mask_emb is the query of a second stream, which only target_mapping enables",
    ),
    ("xlnet", "unused", "layer.*"): (
        "meant", "biases of segments, which are used only if token_type_ids are given",
    ),
    ("led", "grad_exists", "encoder.layers.*_global"): ("meant", _GLOBAL),
    ("led", "uncalled_modules", "encoder.layers.*_global"): ("meant", _GLOBAL),
    ("dinov2", "grad_exists", "embeddings"): (
        "meant", "mask_token is used only if bool_masked_pos is given, in pretraining",
    ),
    ("mobilenet_v2", "grad_exists", "layer.1?.reduce_1x1.normalization"): (
        "true", f"{_SMALL}: BatchNorm over 2 values returns 1 and -1 for any input",
    ),
    ("poolformer", "grad_exists", "encoder.block.3.0*"): (
        "true", f"{_SMALL}: pooling minus its input is 0",
    ),
    ("CLIPText", "zero_initialization", ""): (
        "true", "proj is zero until a checkpoint is loaded",
    ),
    ("CNNLSTMGesture", "grad_exists", "lstm"): ("true", _ONE_STEP),
    ("CaptchaNet", "grad_exists", "lstm"): ("true", _ONE_STEP),
    ("CRNNStrip", "grad_exists", "gru"): ("true", _ONE_STEP),
    ("SequencePredictor", "grad_exists", "lstm?"): ("true", _ONE_STEP),
    ("MLPUnbatched", "grad_exists", "rnn"): ("true", _ONE_STEP),
    ("DecoderOnlyMasks", "uncalled_modules", "layer"): (
        "true", "nn.TransformerDecoder copies the layer that it gets",
    ),
    ("WaveNet", "grad_exists", "residuals.9"): ("true", "the last residual is not used"),
    ("mobilenet_v2", "batch_norm_statistics", "*"): (
        "true", "the momentum of TensorFlow: in PyTorch it is that of the batch",
    ),
    ("SASRec", "unread_input", ""): ("meant", "the users are an argument of its interface"),
    ("ODEFunc", "unread_input", ""): ("meant", "solvers pass the time to each function"),
    ("Autoformerish", "unread_input", ""): ("true", "the features of the time are not used"),
    ("DrivingNet", "linear_after_linear", "linear_layers.?"): (
        "true", "five linear layers in a row, as in the code that it is written after",
    ),
    ("CLIPText", "all_zero", ""): ("true", "proj is zero until a checkpoint is loaded"),
    ("NeuralODE", "saturated_activation", "f.1"): (
        "true", "the state grows over the steps of the solver",
    ),
    ("STFTDenoiser", "saturated_activation", "mask"): (
        "true", "magnitudes of a spectrum that are not scaled",
    ),
    ("esm", "uncalled_modules", "contact_head"): ("meant", "runs only if contacts are predicted"),
    **dict.fromkeys(
        (
            (f"blind:{name}", "zero_initialization", "*")
            for name in (
                "RealNVP", "DiffusionEps", "LoRAEncoder", "AdapterEncoder", "PointNet",
                "SpatialTransformer",
            )
        ),
        ("meant", "the last layer starts with zeros, so that the model starts as without it"),
    ),
    **dict.fromkeys(
        (
            (f"timm:{name}", "zero_initialization", "*")
            for name in (
                "efficientvit_m0", "mobilevit_xxs", "regnety_002", "resnet10t", "test_byobnet",
                "test_nfnet", "test_resnet",
            )
        ),
        ("meant", "the last layer of each residual branch starts with zeros"),
    ),
    ("timm:test_nfnet", "grad_exists", "stages.3.0.attn_last"): (
        "meant", "the gain after it starts with zero",
    ),
    ("TextCNN", "grad_norm", ""): (
        "true", "torch with oneDNN returns 1e8 and more for a gradient that is 5 without it",
    ),
    ("timm:efficientvit_m0", "grad_exists", "stages.2.blocks.2.ffn1.m.pw2.bn"): (
        "true", "the batch norm of the head subtracts what this bias adds",
    ),
    ("SkipGram", "single_sample", ""): (
        "true", "a batch of one sample fails, since squeeze removes its dimension",
    ),
    ("blind:BYOL", "batch_norm_statistics", "target.2"): (
        "meant", "the target network is a moving average of the online one",
    ),
}  # fmt: skip

# Not on each machine: they depend on rounding, on a version, or on an error of a kernel.
SOMETIMES = {
    ("TextCNN", "grad_norm", ""),
    ("TextCNN", "finite", "convs.?.weight"),
    ("timm:test_nfnet", "grad_exists", "stages.3.0.attn_last"),
    ("timm:efficientvit_m0", "grad_exists", "stages.2.blocks.2.ffn1.m.pw2.bn"),
}

FAULTS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("state_moving_average", "batch_norm_statistics", "teacher.1"): (
        "meant", "the teacher is a moving average of the student",
    ),
    ("out_none", "grad_exists", ""): ("true", "its forward returns None: no loss follows from it"),
    ("attn_two_towers", "equal_units", "image.proj"): (
        "true", "the columns of its projection are equal, and get equal gradients",
    ),
    ("param_two_names", "equal_units", "weight"): ("true", "all values are one number"),
    ("call_overridden", "clipped_logits", ""): ("true", "as it says"),
    ("name_nested_sequential", "clipped_logits", "grid.0.0.0.0.0"): ("true", "as it says"),
    ("hostile_getattr_delegation", "clipped_logits", "model.model.0"): ("true", "as it says"),
    ("hostile_sealed", "clipped_logits", "0.fc"): ("true", "as it says"),
    ("hostile_hidden_children", "clipped_logits", "0.fc"): ("true", "as it says"),
    ("in_none_at_all", "zero_initialization", ""): (
        "true", "its input is a parameter of zeros",
    ),
    ("TextCNN", "finite", "convs.?.weight"): (
        "true", "now and then: a convolution of torch 2.13 on CPU reads memory that nothing wrote, "
        "and plain PyTorch gets these NaN too",
    ),
    ("param_zero_elements", "grad_norm", ""): ("true", "its parameters have no elements"),
    ("tensor_low_precision", "grad_exists", "*"): ("fault", "its output goes through an argmax"),
    ("tensor_zero_elements", "grad_exists", "fc"): ("fault", "a batch of no samples"),
    ("tensor_inference_and_meta", "finite", ""): ("fault", "it returns x / 0"),
    ("flow_exception_caught", "*", "fast*"): ("fault", "its result is not used"),
    ("tensor_numpy", "cut_off", ""): ("fault", "its output goes through numpy"),
    ("tensor_inference_and_meta", "cut_off", ""): ("fault", "runs in inference mode"),
    ("attn_encoder_padding", "cut_off", ""): ("fault", "runs under no_grad"),
    ("call_registered_in_forward", "unregistered_parameters", "late.*"): (
        "true", "forward registers it, after an optimizer would be made",
    ),
    ("call_deepcopy", "unregistered_parameters", "Linear"): (
        "true", "forward makes a copy of a layer, whose gradient is lost",
    ),
    ("state_parameter_changes", "unregistered_parameters", "grown"): (
        "true", "forward replaces a parameter by a larger one",
    ),
    ("flow_grad_modes", "grad_exists", "teacher"): ("fault", "runs under no_grad"),
    ("func_grad_child", "grad_exists", "*"): ("true", "the derivative does not depend on a bias"),
    ("func_ensemble", "grad_exists", ""): ("true", "copies of its weights are used instead"),
    ("call_patched_forward", "grad_exists", "1"): (
        "fault", "forward is replaced by one that does not use it",
    ),
    ("call_overridden", "*", "bare*"): ("fault", "its __call__ does not call forward"),
    ("hook_with_kwargs", "batch_independent", ""): (
        "fault", "a hook scales all samples by an element of the first",
    ),
    ("name_500_siblings", "grad_exists", "*"): ("true", "a ReLU after it is always 0"),
    ("param_views", "tied_weights", "flat"): (
        "true", "a flat parameter and one that is a view of it: both are trained",
    ),
    ("name_not_identifiers", "vanishing_gradient", "*"): (
        "true", "a chain of layers with the default initialization",
    ),
    ("*", "random_in_eval", "*"): ("meant", "it samples, as its author intends"),
    ("*SpatialTransformer", "function_arguments", ""): ("true", "its matrices begin at random"),
    ("vision_spatial_transformer", "function_arguments", ""): (
        "true", "its matrices begin at random",
    ),
    ("SlowFast", "function_arguments", "lateral*"): (
        "meant", "the lateral convolution skips frames, as in the paper",
    ),
    ("DecoderOnlyMasks", "position_effect", "*"): ("true", "it has no positions"),
    ("state_buffer_rebound", "state_between_calls", "count"): (
        "true", "each call adds to the buffer, which its output has",
    ),
    ("*", "linear_after_linear", "*"): ("true", "all operators between the layers are linear"),
    ("*", "unread_setting", "*"): ("true", "no line reads the argument, which its callers pass"),
    ("name_control_characters", "vanishing_gradient", "*"): (
        "true", "a chain of layers with the default initialization",
    ),
    ("param_lazy", "*", "unused"): ("fault", "never called"),
    ("state_batch_norm_training", "batch_independent", ""): (
        "fault", "a BatchNorm that stays in train mode",
    ),
    ("state_batch_norm_training", "grad_exists", "norm"): (
        "true", "the BatchNorm after it cancels any bias; rounding may leave 1e-9",
    ),
    ("state_kv_cache", "grad_exists", "out"): ("fault", "its output goes through an argmax"),
    ("state_python_counter", "*", "blocks.?"): ("meant", "each forward runs one block, in turn"),
    ("attn_generate", "grad_exists", "blocks.1.out"): (
        "fault", "its output is used only by the argmax that selects tokens",
    ),
    ("vision_squeeze_excite", "grad_exists", "gate"): ("fault", "detached"),
    ("mix_actor_critic", "grad_exists", "core"): ("true", "the initial state is zeros"),
    ("mix_stochastic_depth", "*", "layers.?"): ("meant", _SKIPPED),
    ("out_empty_tuple", "unread_input", ""): ("true", "it returns an empty tuple"),
    ("flow_data_dependent", "all_frozen", ""): ("true", "only its input requires grad"),
    ("seq_reservoir", "all_frozen", ""): ("meant", "the weights of a reservoir stay as they are"),
    ("grad_checkpoint_backward", "linear_after_linear", "again.0"): ("true", "as it says"),
    ("name_ambiguous_paths", "linear_after_linear", "a.b"): ("true", "as it says"),
    ("param_module_two_parents", "linear_after_linear", "a.0.0"): ("true", "as it says"),
}  # fmt: skip


def verdict_of(model, diagnosis, keys=(*VERDICTS, *FAULTS)):
    """Return (verdict, why) of a diagnosis, or None if it was not reviewed.

    The second part of a key matches the cause of the diagnosis, or the name of one of its rules.
    """
    causes = {diagnosis["cause"], *diagnosis["rules"]}
    for name, cause, target in keys:
        if (
            fnmatchcase(model, name)
            and any(fnmatchcase(one, cause) for one in causes)
            and fnmatchcase(diagnosis["target"], target)
        ):
            return {**VERDICTS, **FAULTS}[name, cause, target]
    return None
