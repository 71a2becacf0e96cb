"""Why gradients are exactly zero: the sentences about what one more backward showed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hookcli.report.report import ParameterRow, Report
from hookcli.rules.select import modules_above

ZERO_REASONS = "zero_reasons"
CLIPPED = "clipped_gradient"
_CAUSES = {
    "clipped": CLIPPED, "masked": "masked_gradient", "rounded": "rounded_gradient",
    "flat": "flat_activation", "one_element": "normalizes_one_value", "zero_factor": "zero_factor",
    "zero_input": "zero_factor",
    "cancelled": "cancelled_gradient", "hook": "gradient_hook", "function": "zero_backward",
    "zero_state": "zero_state", "dropped": "dropout_of_all", "zero_rows": "zero_rows",
    "padding": "only_padding",
    "only_reverse": "unread_direction", "only_forward": "unread_direction",
    "lower_layers": "unread_layers", "first_of_reverse": "zero_state",
}  # fmt: skip
STOPPING = frozenset(
    {CLIPPED, "masked_gradient", "flat_activation", "zero_factor", "dropout_of_all"}
)
_SENTENCES = {
    "clipped": "`{what}`{place} clips each of its {count:,} values",
    "masked": "`{what}`{place} selects none of the values that depend on {them}",
    "rounded": "the derivative of `{what}`{place} is zero",
    "flat": "`{what}`{place} is flat: each of its {count:,} inputs is too large",
    "one_element": "`softmax`{place} is over one element, so its result is always 1",
    "named factor": "{they} multiplied by '{what}', which is zero{place}",
    "zero_factor": "{they} multiplied by zeros{place}",
    "zero_input": "the input of the layer{place} is zero",
    "cancelled": "the gradients of several terms cancel{place}",
    "hook": "a hook on {them} returns zeros",
    "function": "the backward of `{what}`{place} returns zeros",
    "dropped": "dropout{place} has a probability of 1, which sets every value to zero",
    "zero_rows": "the layer{place} gets a gradient only where its input is zero",
    "padding": "only tokens of padding_idx={what} get a gradient{place}",
    "zero_state": "only a first step is used{place}, whose state is zero",
    "only_reverse": "only the reverse direction of the last layer is read, as by `h_n[-1]`",
    "only_forward": "only the forward direction of the last layer is read",
    "lower_layers": "only a lower layer is read, as by `h_n[0]`",
    "first_of_reverse": "of the reverse direction only the first step is read, as by "
    "`output[:, -1]`",
}
_ADVICE = {
    "clipped": "use an activation with a gradient everywhere, such as softplus, or initialize so "
    "that some values are in range",
    "masked": "check the mask, and which values it selects",
    "rounded": "use a straight-through estimator: `x + (x.round() - x).detach()`",
    "flat": "make the inputs of `{what}` smaller: initialize with smaller weights, or normalize",
    "one_element": "use a sigmoid for one output, or softmax over the dimension of the classes",
    "named factor": "initialize '{what}' with random numbers",
    "named buffer": "check why '{what}' is zero: no step of an optimizer changes a buffer",
    "zero_factor": "check why the other factor is zero",
    "zero_input": "check what makes the input of the layer zero",
    "hook": "remove the hook, or freeze what it is on",
    "function": "return the gradient from the `backward` of `{what}`",
    "dropped": "pass the probability of dropping a value, such as 0.1, not of keeping it",
    "zero_rows": "check which positions are used: a mask may be inverted, so that only padding is",
    "padding": "check the mask: `scaled_dot_product_attention` attends where it is True, and "
    "`nn.MultiheadAttention` where it is False",
    "zero_state": "use the output of later steps; of the reverse direction, the last one is first",
    "only_reverse": "join both: `torch.cat([h_n[-2], h_n[-1]], dim=-1)`",
    "only_forward": "join both: `torch.cat([h_n[-2], h_n[-1]], dim=-1)`",
    "lower_layers": "read the last layer: `h_n[-1]`, or of two directions `h_n[-2]` and `h_n[-1]`",
    "first_of_reverse": "join `h_n[-2]` and `h_n[-1]`, the last steps of both directions",
}
# weight_ih_l0_reverse: what it multiplies, the layer, the direction
_RECURRENT = re.compile(r"(?:weight|bias)_(ih|hh|hr)_l(\d+)(_reverse)?")


def reason_of(
    report: Report, rows: Iterable[ParameterRow]
) -> tuple[str, str, str, str | None] | None:
    """Return cause, sentence, advice and place of why gradients are zero; None if not known.

    All must have one reason.
    """
    rows = list(rows)
    measured = [m.value for m in report.measurements if m.probe == ZERO_REASONS]
    reasons = [value for value in measured if isinstance(value, Mapping) and "cut_off" in value]
    cut_off = {name for value in reasons for name in value["cut_off"]}
    unread = None if cut_off & _with_modules(rows) else _of_recurrent(report, rows)
    if unread is not None:
        return _CAUSES[unread], _SENTENCES[unread].format(place=""), _ADVICE[unread], None
    if report.training is not None and all(_is_recurrent(row) for row in rows):
        sentence = _SENTENCES["zero_state"].format(place="")
        return _CAUSES["zero_state"], sentence, _ADVICE["zero_state"], None
    found: list[Mapping[str, Any]] = []
    several = 0
    for row in rows:
        above = _with_modules([row])
        known = next((one for one in reasons if above.intersection(one["cut_off"])), None)
        if known is None:
            return None
        several += 1
        found += [] if known in found else [known]
    if len({(one["why"], one["what"]) for one in found}) != 1:
        return None
    first = found[0]
    why = "named factor" if first["why"] == "zero_factor" and first["what"] else first["why"]
    words = {
        "what": first["what"],
        "place": f" at {first['place']}" if first["place"] else "",
        "count": first["count"],
        "them": "it" if several == 1 else "them",
        "they": "it is" if several == 1 else "they are",
    }
    named = {row.name for row in report.parameters}
    hint = "named buffer" if why == "named factor" and first["what"] not in named else why
    sentence, advice = _SENTENCES[why].format(**words), _ADVICE.get(hint, "").format(**words)
    return _CAUSES[first["why"]], sentence, advice, first["place"]


def _with_modules(rows: Iterable[ParameterRow]) -> set[str]:
    return {name for row in rows for name in (row.name, *modules_above(row.name))}


def _of_recurrent(report: Report, rows: list[ParameterRow]) -> str | None:
    """Return which part of a recurrent layer nothing reads: a direction, layers, or later steps.

    `rows` are the parameters with a zero gradient, all of one module.
    """
    first = _part_of(rows[0])
    if first is None:
        return None
    owners = {row.name.rpartition(".")[0] for row in rows}
    status: dict[tuple[str, int, bool], set[bool]] = {}  # whether the gradients are zero
    zero = {row.name for row in rows}
    for row in report.parameters:
        part = _part_of(row)
        if part is not None and row.name.rpartition(".")[0] in owners:
            status.setdefault(part, set()).add(row.name in zero)
    if len(owners) > 1 or any(_part_of(row) is None for row in rows):
        return None
    last = max(layer for _, layer, _ in status)
    weights = [key for key in status if key[0] == "ih"]
    dead = {(layer, back) for kind, layer, back in weights if status[kind, layer, back] == {True}}
    alive = {(layer, back) for _, layer, back in weights} - dead
    if dead == {(last, False)} and (last, True) in alive:
        return "only_reverse"
    if dead == {(last, True)} and (last, False) in alive:
        return "only_forward"
    if dead and {layer for layer, _ in dead}.isdisjoint(layer for layer, _ in alive):
        return "lower_layers" if min(dead) > max(alive, default=(last, True)) else None
    states = {key for key, values in status.items() if key[0] == "hh" and True in values}
    if not dead and states == {("hh", last, True)}:
        return "first_of_reverse"
    return None


def _part_of(row: ParameterRow) -> tuple[str, int, bool] | None:
    """Return of what, of which layer and of which direction a recurrent layer has a weight."""
    found = _RECURRENT.fullmatch(row.name.rpartition(".")[2])
    return None if found is None else (found[1], int(found[2]), found[3] is not None)


def _is_recurrent(row: ParameterRow) -> bool:
    """Return whether a parameter is the weight of the state of a recurrent layer.

    If the other weights of the layer have a gradient, this one's is zero where the state is.
    """
    return row.name.rpartition(".")[2].startswith("weight_hh_l")
