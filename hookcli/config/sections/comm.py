"""`comm`: torch's communication hooks, each with the options of its state as torch names them."""

from __future__ import annotations

from typing import Any

from hookcli.config.parse.containers import Fields, Key, unknown_key
from hookcli.config.parse.nodes import Node, NodeError, Problems
from hookcli.config.parse.scalars import Boolean, Integer, Named, Number, Schema, Validator, reject

_POWER_SGD = {
    "matrix_approximation_rank": Key(Integer(1), "the rank of the approximation; default 1"),
    "start_powerSGD_iter": Key(Integer(0), "the first step with compression; default 1000"),
    "min_compression_rate": Key(Number(above=0), "compress only if it saves at least this factor"),
    "use_error_feedback": Key(Boolean(), "add the compression error to the next step's gradient"),
    "warm_start": Key(Boolean(), "start with the matrices of the previous step"),
    "orthogonalization_epsilon": Key(Number(), "added when columns are orthogonalized"),
    "random_seed": Key(Integer(0, 2**32 - 1), "the seed of the first matrices"),
    "compression_stats_logging_frequency": Key(Integer(1), "the number of steps between log lines"),
    "batch_tensors_with_same_shape": Key(Boolean(), "compress tensors of the same shape together"),
}
_LOCAL_SGD = {
    "start_localSGD_iter": Key(
        Integer(0),
        "the step at which local SGD starts, without averaging over all ranks",
        required=True,
    ),
    "post_local_gradient_allreduce": Key(Boolean(), "average within a subgroup from that step on"),
}
STATES: dict[str, dict[str, Key]] = {
    "allreduce": {},
    "fp16_compress": {},
    "bf16_compress": {},
    "power_sgd": _POWER_SGD,
    "batched_power_sgd": _POWER_SGD,
    "quantize_per_tensor": {},
    "quantize_per_channel": {},
    "noop": {},
    "post_local_sgd": _LOCAL_SGD,
    "fp16_compress_wrapper": {},
    "bf16_compress_wrapper": {},
}
WRAPPERS = ("fp16_compress_wrapper", "bf16_compress_wrapper")


def _bare(word: str) -> str:
    return (
        word.lower()
        .removesuffix("_hook")
        .replace("_sgd", "sgd")
        .replace("localsgd", "local_sgd")
        .replace("powersgd", "power_sgd")
    )


_NAME = Named(
    "communication hook", dict.fromkeys(STATES, ""), f"choose from {', '.join(STATES)}", bare=_bare
)
_OF_WRAPPER = ("name", "around")
_NAME_KEY = Key(_NAME, "the name of one of torch's communication hooks", required=True)


class Comm:
    """The name of a hook, or {name, **state}, or for a wrapper {name, around}.

    `function` reads a function of the user's, which a wrapper can wrap too.
    """

    expected = "the name of a communication hook, or {name: power_sgd, …}"

    def __init__(self, function: Validator) -> None:
        self._function = function

    def read(self, item: Node, problems: Problems) -> dict[str, Any]:
        """Return the name with the state that was given."""
        if isinstance(item.value, str):
            return self._name_only(item, _NAME.read(item, problems))
        if not isinstance(item.value, dict):
            reject(item, self.expected, "write `comm: fp16_compress`")
        named = item.get("name")
        if named is None:
            raise NodeError(item, "missing key 'name'", "write `comm: {name: power_sgd, …}`")
        name = _NAME.read(named, problems)
        if name in WRAPPERS:
            return self._wrapper(item, name, problems)
        return Fields({"name": _NAME_KEY, **STATES[name]}).read(item, problems)

    def _name_only(self, item: Node, name: str) -> dict[str, Any]:
        if name in WRAPPERS:
            raise _requires(item, name, "around", "power_sgd")
        missing = [key for key, option in STATES[name].items() if option.required]
        if missing:
            raise _requires(item, name, missing[0], "100")
        return {"name": name}

    def _wrapper(self, item: Node, name: str, problems: Problems) -> dict[str, Any]:
        """Return the wrapper with what it wraps: another hook, or {call: the user's}."""
        around = item.get("around")
        if around is None:
            raise _requires(item, name, "around", "power_sgd")
        for key, child in item.value.items():
            if key not in _OF_WRAPPER:
                raise unknown_key(child, key, _OF_WRAPPER)
        call = around.get("call")
        if call is not None:
            return {"name": name, "around": self._function.read(call, problems)}
        return {"name": name, "around": self.read(around, problems)}

    def schema(self) -> Schema:
        """JSON Schema: the names, and a mapping for each."""
        full: list[Schema] = []
        for name, state in STATES.items():
            schema = Fields({"name": _NAME_KEY, **state}).schema()
            schema["properties"]["name"] = {"const": name, "description": _NAME_KEY.does}
            if name in WRAPPERS:
                schema["properties"]["around"] = {
                    "type": ["string", "object"],
                    "description": "what it wraps: a communication hook, or {call: FUNCTION}",
                }
                schema["required"] = ["name", "around"]
            full.append(schema)
        names = [
            name
            for name, state in STATES.items()
            if name not in WRAPPERS and not any(key.required for key in state.values())
        ]
        return {"anyOf": [{"enum": names}, *full]}


def _requires(item: Node, name: str, key: str, example: str) -> NodeError:
    return NodeError(
        item, f"{name} requires '{key}'", f"write `comm: {{name: {name}, {key}: {example}}}`"
    )
