"""What `function_arguments` says of each argument that does not fit: message and advice."""

from __future__ import annotations

from hookcli.rules.losses.misfits import Values
from hookcli.text import counted


def _flag(values: Values) -> tuple[str, str]:
    kind, attribute, value = values["type"], values["attribute"], values["value"]
    return (
        f"{kind} was constructed with {attribute}={value}, which counts as {float(value):g}: a "
        "number is expected there",
        "pass the argument that is meant by its name",
    )


def _constant_mask(values: Values) -> tuple[str, str]:
    shape, dim = values["shape"], values["dim"]
    return (
        f"a softmax over dimension {dim} of scores {shape} gets a mask {values['mask']} that is "
        "the same along that dimension: it hides whole rows, which changes no weight",
        f"give the mask the size {shape[dim]} in dimension {dim}, as that of keys has it",
    )


def _heads(values: Values) -> tuple[str, str]:
    heads, shape = values["heads"], values["shape"]
    return (
        f"an attention of shape {shape} is among the {heads} heads of each position, and not among "
        f"the {values['positions']} positions",
        "transpose dimensions 1 and 2, so that heads come before positions",
    )


def _mixture(values: Values) -> tuple[str, str]:
    summed, normalized = values["summed"], values["normalized"]
    return (
        f"logsumexp adds up a mixture over dimension {summed}, but log_softmax normalizes its "
        f"weights over dimension {normalized}: they do not add up to 1",
        f"apply log_softmax over dimension {summed}",
    )


def _whole_norm(values: Values) -> tuple[str, str]:
    return (
        f"a batch of shape {values['shape']} is divided by one norm of all its samples: each "
        "sample depends on the others",
        "pass `dim=-1, keepdim=True` to the norm, or use `F.normalize(x, dim=-1)`",
    )


def _dropout_off(values: Values) -> tuple[str, str]:
    name = values["function"]
    return (
        f"{name} with p={values['p']:g} drops nothing, although the module trains: its argument "
        "`training` is False by default",
        "pass `training=self.training`",
    )


def _checkpoint(values: Values) -> tuple[str, str]:
    return (
        "a checkpoint with preserve_rng_state=False runs "
        f"{counted(values['dropouts'], 'dropout module')} again in backward, with other random "
        "numbers: its gradients are those of another forward",
        "remove `preserve_rng_state=False`",
    )


def _past_hidden(values: Values) -> tuple[str, str]:
    return (
        f"{values['argument']} is inverted: it hides each of the {values['size']:,} positions and "
        "all before it, since True marks what is hidden",
        "use `triu(1)`: True where a later position is hidden",
    )


def _zero_one_mask(values: Values) -> tuple[str, str]:
    return (
        f"{values['argument']} {values['shape']} of an attention is a float tensor of 0 and 1: it "
        "is added to the scores, and hides nothing",
        "pass a boolean mask, or -inf where a position is hidden and 0 elsewhere",
    )


def _repeated_mask(values: Values) -> tuple[str, str]:
    heads, samples = values["heads"], values["samples"]
    return (
        f"attn_mask repeats the masks of all {samples} samples {heads} times, but it must have the "
        f"{heads} masks of sample 0 first, then those of sample 1: samples get the masks of others",
        f"use `mask.repeat_interleave({heads}, dim=0)`",
    )


def _causal_offset(values: Values) -> tuple[str, str]:
    queries, keys = values["queries"], values["keys"]
    return (
        f"is_causal=True of an attention with {counted(queries, 'query', 'queries')} and {keys:,} "
        "keys counts both from the first: queries do not see the last "
        f"{counted(keys - queries, 'key')}",
        "pass a mask that is aligned to the last key: torch.nn.attention.bias.causal_lower_right",
    )


def _scaled_twice(values: Values) -> tuple[str, str]:
    return (
        f"the {values['side']} of scaled_dot_product_attention was multiplied by "
        f"{values['scale']:.4g}, 1/sqrt({values['size']}), which the function does as well",
        "remove the factor, or pass `scale=1.0`",
    )


def _masked_weights(values: Values) -> tuple[str, str]:
    return (
        "the weights of a softmax are multiplied by a mask of 0 and 1: those of a row add up to "
        f"{values['least']:.2g} only, in {counted(values['rows'], 'row')}",
        "fill the scores with -inf in front of the softmax: `scores.masked_fill(~mask, -inf)`",
    )


def _constant_average(values: Values) -> tuple[str, str]:
    shape = values["shape"]
    if values["of"] == "softmax":
        return (
            f"a softmax of shape {shape} is added up over its own dimension: the result is the "
            "same for all inputs",
            "sum over another dimension, or multiply by values first",
        )
    return (
        f"an average over the positions of {shape} follows an instance norm, which makes that "
        "average 0 for each sample and channel: the result is constant",
        "put an activation in between, or use another norm, as BatchNorm or LayerNorm",
    )


def _exchanged_size(values: Values) -> tuple[str, str]:
    high, wide = values["size"]
    return (
        f"interpolate gets the size ({high}, {wide}) for an input {values['shape']}: height and "
        "width are exchanged",
        "pass (height, width)",
    )


def _class_map(values: Values) -> tuple[str, str]:
    return (
        f"interpolate with mode={values['mode']!r} gets whole numbers up to {values['largest']}, "
        "as class ids are: numbers in between are those of other classes",
        'pass `mode="nearest"`',
    )


def _pixel_grid(values: Values) -> tuple[str, str]:
    return (
        f"{values['share']:.0%} of the points of the grid of grid_sample are far outside of the "
        f"image, up to {values['largest']:.3g}: they must be between -1 and 1, not pixels",
        "use `2 * x / (width - 1) - 1`, with align_corners=True",
    )


def _exchanged_grid(values: Values) -> tuple[str, str]:
    return (
        f"the first value of each point of the grid {values['shape']} grows along the height, but "
        "grid_sample takes (x, y): the image is transposed",
        "use `torch.stack([x, y], dim=-1)`",
    )


def _other_corners(values: Values) -> tuple[str, str]:
    aligned = values["align_corners"]
    return (
        f"the grid of grid_sample has the step of align_corners={not aligned}, and the function "
        f"gets align_corners={aligned}: even an identity grid changes the image",
        f"pass `align_corners={not aligned}`",
    )


def _shrunk(values: Values) -> tuple[str, str]:
    return (
        "affine_grid gets learned matrices that begin far from the identity: they read "
        f"{values['size']:.2g} of the size of the image",
        "initialize the layer that returns them with weight 0 and bias [1, 0, 0, 0, 1, 0]",
    )


def _crossed_index(values: Values) -> tuple[str, str]:
    shape, index = values["shape"], values["index"]
    return (
        f"x[:, index] with an index {index} for a batch {shape} reads each sample at the indices "
        f"of all samples: the result is {values['result']}",
        "use `x.gather(1, index[..., None].expand(-1, -1, x.size(-1)))`, or index dimension 0, too",
    )


def _own_transmittance(values: Values) -> tuple[str, str]:
    return (
        "a cumprod of 1 - opacity includes the factor of the position itself: each position is "
        "hidden by its own opacity",
        "begin with 1: `torch.cat([torch.ones_like(a[:, :1]), 1 - a], 1).cumprod(1)[:, :-1]`",
    )


def _distance_sign(values: Values) -> tuple[str, str]:
    return (
        f"a softmax of shape {values['shape']} gets distances without a minus: what is farthest "
        "has the largest weight",
        "use `(-distance).softmax(...)`",
    )


def _glu_positions(values: Values) -> tuple[str, str]:
    dim, shape = values["dim"], values["shape"]
    return (
        f"glu splits dimension {dim} of {shape}, the positions of a convolution, and not its "
        "channels: positions gate others",
        "pass `dim=1`",
    )


def _kept_zeros(values: Values) -> tuple[str, str]:
    return (
        f"scatter_reduce with reduce={values['reduce']!r} counts the zeros of its target as "
        "values: include_self is True by default",
        "pass `include_self=False`",
    )


def _lost_duplicates(values: Values) -> tuple[str, str]:
    return (
        f"`x[index] += value` with {values['indices']:,} indices, of which "
        f"{values['different']:,} are different, keeps one value for each: the others are lost",
        "use `x.index_add_(0, index, value)`",
    )


def _lost_dimension(values: Values) -> tuple[str, str]:
    dim, function = values["dim"], values["function"]
    what = "divided by" if values["divides"] else "reduced by"
    return (
        f"a tensor {values['shape']} is {what} its {function} over dimension {dim}, which the "
        "result does not keep: each row gets the values of others",
        f"pass `keepdim=True` to `{function}`",
    )


def _dropped_channels(values: Values) -> tuple[str, str]:
    whole = "positions" if values["channels"] else "samples"
    return (
        f"{values['function']} of {values['shape']} takes dimension {values['channels']} for "
        f"channels: it drops whole {whole}",
        "move the features there: `drop(x.transpose(1, 2)).transpose(1, 2)` with dropout1d",
    )


def _whole_layer_norm(values: Values) -> tuple[str, str]:
    return (
        f"a layer norm of {values['shape']} is over its {values['positions']:,} positions, too: "
        "each position depends on all others, and their number is fixed",
        "normalize the features alone: `nn.LayerNorm(features)`",
    )


def _torn_rows(values: Values) -> tuple[str, str]:
    shape = values["shape"]
    return (
        f"sort over dimension 1 of {shape} orders each of the {shape[2]} columns by itself: values "
        "of one row do not belong together afterwards",
        "sort by one column: `x.gather(1, x[..., :1].argsort(1).expand_as(x))`",
    )


def _unscaled_fold(values: Values) -> tuple[str, str]:
    size, stride, overlaps = values["size"], values["stride"], values["overlaps"]
    return (
        f"fold adds up patches of {size} with stride {stride}, which overlap: most pixels are sums "
        f"of {overlaps}, and those at the border of fewer",
        "divide by `F.fold(F.unfold(torch.ones_like(x), ...), ...)`",
    )


def _scaled_bias(values: Values) -> tuple[str, str]:
    return (
        f"baddbmm with beta={values['beta']:.4g}, 1/sqrt({values['size']}), scales what is added, "
        "and not the product",
        "pass it as `alpha`",
    )


def _single_norm(values: Values) -> tuple[str, str]:
    return (
        f"values are divided by a norm over dimension {values['dim']} of {values['shape']}, which "
        "has one element: only their signs are left",
        "pass the dimension of the features: `dim=-1`",
    )


def _broadcast_similarity(values: Values) -> tuple[str, str]:
    first, second = values["shapes"]
    return (
        f"cosine_similarity of {first} and {second} works over dimension {values['dim']}, in which "
        "one of them has a single value: it compares its sign with the others",
        "pass the dimension of the features: `dim=-1`",
    )


def _joined_samples(values: Values) -> tuple[str, str]:
    return (
        f"torch.cat joins {values['parts']} results {values['shape']} of different layers along "
        f"the samples: what follows has {values['rows']} rows",
        "pass `dim=-1` if their features are meant",
    )


def _normalized_positions(values: Values) -> tuple[str, str]:
    shape = values["shape"]
    return (
        f"{values['function']} works over dimension 1 of {shape} by default, and the "
        f"{shape[-1]:,} features of a linear layer are in the last one",
        "pass `dim=-1`",
    )


def _layer_dropout(values: Values) -> tuple[str, str]:
    return (
        f"{values['type']} with dropout={values['p']:g} and one layer drops nothing: it drops "
        "between layers",
        "put `nn.Dropout` after the layer, or use more layers",
    )


def _gate_bias(values: Values) -> tuple[str, str]:
    return (
        f"the biases of {values['type']} are {values['value']:g} in its {values['gate']} gate, and "
        "0 elsewhere: its gates are input, forget, cell and output",
        "set the second quarter, for the forget gate: `bias[n // 4 : n // 2]`",
    )


def _stride_gaps(values: Values) -> tuple[str, str]:
    return (
        f"{values['type']} with kernel size {values['kernel']} and stride {values['stride']} skips "
        "positions of its input: no output reads them",
        "use a stride of at most the kernel size",
    )


def _open_end(values: Values) -> tuple[str, str]:
    return (
        f"{values['type']} has layers with norm_first=True and no `norm`: nothing normalizes the "
        "sum of all layers that it returns",
        "pass `norm=nn.LayerNorm(d_model)`",
    )


def _selu_dropout(values: Values) -> tuple[str, str]:
    return (
        f"{values['type']} follows SELU, and changes mean and variance, which SELU keeps at 0 and "
        "1",
        "use `nn.AlphaDropout`",
    )


# Those that may be meant.
NOTES = frozenset(
    {"class_map", "dropped_channels", "joined_samples", "layer_dropout", "open_end",
     "other_corners", "scaled_bias", "selu_dropout", "shrunk", "stride_gaps", "torn_rows",
     "unscaled_fold", "whole_layer_norm"}
)  # fmt: skip
SENTENCES = {
    "broadcast_similarity": _broadcast_similarity,
    "causal_offset": _causal_offset,
    "checkpoint": _checkpoint,
    "class_map": _class_map,
    "constant_average": _constant_average,
    "constant_mask": _constant_mask,
    "crossed_index": _crossed_index,
    "distance_sign": _distance_sign,
    "dropout_off": _dropout_off,
    "dropped_channels": _dropped_channels,
    "exchanged_grid": _exchanged_grid,
    "exchanged_size": _exchanged_size,
    "flag": _flag,
    "gate_bias": _gate_bias,
    "glu_positions": _glu_positions,
    "heads": _heads,
    "joined_samples": _joined_samples,
    "kept_zeros": _kept_zeros,
    "layer_dropout": _layer_dropout,
    "lost_duplicates": _lost_duplicates,
    "lost_dimension": _lost_dimension,
    "masked_weights": _masked_weights,
    "mixture": _mixture,
    "normalized_positions": _normalized_positions,
    "open_end": _open_end,
    "other_corners": _other_corners,
    "own_transmittance": _own_transmittance,
    "past_hidden": _past_hidden,
    "pixel_grid": _pixel_grid,
    "repeated_mask": _repeated_mask,
    "scaled_bias": _scaled_bias,
    "scaled_twice": _scaled_twice,
    "selu_dropout": _selu_dropout,
    "shrunk": _shrunk,
    "single_norm": _single_norm,
    "stride_gaps": _stride_gaps,
    "torn_rows": _torn_rows,
    "unscaled_fold": _unscaled_fold,
    "whole_layer_norm": _whole_layer_norm,
    "whole_norm": _whole_norm,
    "zero_one_mask": _zero_one_mask,
}
