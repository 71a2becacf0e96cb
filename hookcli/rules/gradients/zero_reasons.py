"""Why gradients are exactly zero: the sentences about what one more backward showed."""

from __future__ import annotations

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
}


def reason_of(
    report: Report, rows: Iterable[ParameterRow]
) -> tuple[str, str, str, str | None] | None:
    """Return cause, sentence, advice and place of why gradients are zero; None if not known.

    All must have one reason.
    """
    rows = list(rows)
    if report.training is not None and all(_is_recurrent(row) for row in rows):
        sentence = _SENTENCES["zero_state"].format(place="")
        return _CAUSES["zero_state"], sentence, _ADVICE["zero_state"], None
    found: list[Mapping[str, Any]] = []
    measured = [m.value for m in report.measurements if m.probe == ZERO_REASONS]
    reasons = [value for value in measured if isinstance(value, Mapping) and "cut_off" in value]
    several = 0
    for row in rows:
        above = {row.name, *modules_above(row.name)}
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


def _is_recurrent(row: ParameterRow) -> bool:
    """Return whether a parameter is the weight of the state of a recurrent layer.

    If the other weights of the layer have a gradient, this one's is zero where the state is.
    """
    return row.name.rpartition(".")[2].startswith("weight_hh_l")
