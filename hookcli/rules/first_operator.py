"""The sentence of `finite`: which operator made the first value that is not finite, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookcli.catalogue.reasons import REASONS

Value = Mapping[str, Any]  # the value of a measurement of the probe `first_non_finite`


def kind_of(value: Value) -> str:
    """Return NaN, Inf or -Inf: the worst that the operator returned, if that is known."""
    kinds = (("nans", "NaN"), ("infs", "Inf"), ("minus_infs", "-Inf"))
    return next((word for key, word in kinds if value[key]), "a value that is not finite")


def advice_for(value: Value) -> str | None:
    """Return what to try, if the reason is known."""
    reason = REASONS.get(value["reason"] or "")
    return None if reason is None else reason.advice


def sentence(value: Value, steps: int) -> str:
    """Return the sentence: what appears first, in which layer, at which line, and why."""
    step = f" (step {value['step']})" if steps > 1 else ""
    if value["reason"] == "input":
        where = f"the input{value['facts'].get('name', '')} of the model"
        return f"{where} contains {kind_of(value)}{step}: the batch is not finite"
    backward = "the backward of " if value["node"] else ""
    place = f" at {value['place']}" if value["place"] else ""
    text = f"{kind_of(value)} first appears in {backward}{_layer(value)}{place}{step}: "
    return text + explanation(value, inputs=True)


def explanation(value: Value, *, inputs: bool) -> str:
    """Return why the operator returned it, and what became of it; with its `inputs` if asked."""
    text = _why(value)
    if value["from"] is not None:
        given = value["from"]
        line = f" at {given['place']}" if given["place"] and given["written"] else ""
        text += f"; the {kind_of(given)} comes from {_operator(given)}{line}"
    elif inputs and not value["node"] and value["reason"] not in _GIVEN:
        text += _inputs(value)
    then = value["becomes_nan"]
    if then is not None:
        text += f"; it becomes NaN in {_then(then)}"
    return text


_SHOWN = 2  # inputs in a sentence; the JSON report has all
_GIVEN = {"of_nan", "input", "parameter", "buffer", "constant", "array", "outside", "uninitialized"}


def _inputs(value: Value) -> str:
    """Return the dtype, shape and range of the first inputs, which are finite."""
    tensors = [row for row in value["inputs"] if "dtype" in row and row.get("finite")]
    if not tensors:
        return " (finite inputs)"
    shown = [f"{row['dtype']} {row['shape']}{_range(row)}" for row in tensors[:_SHOWN]]
    return f" (finite inputs: {', '.join(shown)})"


def _range(row: Mapping[str, Any]) -> str:
    low, high = row["min"], row["max"]
    if low is None:
        return ""
    return f" of {_figure(low)}" if low == high else f" from {_figure(low)} to {_figure(high)}"


def _layer(value: Value) -> str:
    if value["layer"]:
        return f"'{value['layer']}'"
    if value["phase"] == "loss":
        return "the loss"
    kind = value.get("type")
    return f"the model ({kind})" if kind and value["layer"] == "" else kind or "the run"


def _operator(value: Value) -> str:
    if value["reason"] in {"parameter", "buffer"}:
        return f"the {value['reason']} {value['facts']['name']}"
    if value["reason"] == "input":
        return "the batch"
    if value["reason"] == "array":
        return "an array that torch did not make"
    return f"`{value['written']}`" if value["written"] else "outside of torch"


def _then(value: Value) -> str:
    place = f" at {value['place']}" if value["place"] else ""
    where = f"the backward of {_operator(value)}" if value["node"] else _operator(value)
    return f"{where}{place}"


def _why(value: Value) -> str:
    reason = REASONS.get(value["reason"] or "")
    node = f" ({value['node']})" if value["node"] else ""
    if reason is None:
        return f"{_operator(value)} returned it{_got(value)}{node}"
    facts = {key: _figure(item) for key, item in value["facts"].items()}
    low, high = facts.get("low"), facts.get("high")
    facts["values"] = f"values of {low}" if low == high else f"values from {low} to {high}"
    return reason.clause.format(op=_operator(value), **facts) + node


def _got(value: Value) -> str:
    """Return the range of the inputs, for an operator whose reason is not known."""
    lows = [row["min"] for row in value["inputs"] if isinstance(row.get("min"), int | float)]
    highs = [row["max"] for row in value["inputs"] if isinstance(row.get("max"), int | float)]
    if not lows or not highs:
        return ""
    return f" for values from {_figure(min(lows))} to {_figure(max(highs))}"


def _figure(value: Any) -> str:
    if not isinstance(value, int | float):
        return str(value)
    value = value or 0  # not -0
    whole = float(value).is_integer() and abs(value) < 1e6
    return f"{value:,.0f}" if whole else f"{value:.3g}"
