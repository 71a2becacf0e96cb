"""`comm`: torch's communication hooks, with the state that each takes in torch's own words."""

from __future__ import annotations

from typing import Any

from hookcli.config.parse.containers import Fields, Key
from hookcli.config.parse.nodes import Node, NodeError, Problems
from hookcli.config.parse.scalars import Boolean, Integer, Named, Number, Schema, Validator, misfit

_POWER_SGD = {
    "matrix_approximation_rank": Key(Integer(1), "the rank; 1 by default"),
    "start_powerSGD_iter": Key(Integer(0), "the step from which it compresses; 1000 by default"),
    "min_compression_rate": Key(Number(above=0), "compress only where it saves this factor"),
    "use_error_feedback": Key(Boolean(), "add what was lost to the next step's gradient"),
    "warm_start": Key(Boolean(), "begin with the last step's matrices"),
    "orthogonalization_epsilon": Key(Number(), "added where columns are orthogonalised"),
    "random_seed": Key(Integer(0, 2**32 - 1), "of the first matrices"),
    "compression_stats_logging_frequency": Key(Integer(1), "steps between two log lines"),
    "batch_tensors_with_same_shape": Key(Boolean(), "compress tensors of one shape together"),
}
_LOCAL_SGD = {
    "start_localSGD_iter": Key(Integer(0), "the step from which ranks go apart", required=True),
    "post_local_gradient_allreduce": Key(Boolean(), "average within a subgroup after it"),
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
    "communication hook", dict.fromkeys(STATES, ""), f"write one of {', '.join(STATES)}", bare=_bare
)
_OF_WRAPPER = ("name", "around")
_NAME_KEY = Key(_NAME, "which of torch's communication hooks", required=True)


class Comm:
    """A hook's name, or {name, **state}; of a wrapper {name, around}.

    `function` reads a function of the user's, which a wrapper can stand around too.
    """

    wants = "the name of a communication hook, or {name: power_sgd, …}"

    def __init__(self, function: Validator) -> None:
        self._function = function

    def read(self, item: Node, problems: Problems) -> dict[str, Any]:
        """The name with the state that was given."""
        if isinstance(item.value, str):
            return self._bare(item, _NAME.read(item, problems))
        if not isinstance(item.value, dict):
            misfit(item, self.wants, "write comm: fp16_compress")
        named = item.get("name")
        if named is None:
            raise NodeError(item, "comm has no 'name'", "write comm: {name: power_sgd, …}")
        name = _NAME.read(named, problems)
        if name in WRAPPERS:
            return self._wrapper(item, name, problems)
        return Fields({"name": _NAME_KEY, **STATES[name]}).read(item, problems)

    def _bare(self, item: Node, name: str) -> dict[str, Any]:
        if name in WRAPPERS:
            hint = f"write comm: {{name: {name}, around: power_sgd}}"
            raise NodeError(item, f"{name} stands around another hook", hint)
        missing = [key for key, option in STATES[name].items() if option.required]
        if missing:
            hint = f"write comm: {{name: {name}, {missing[0]}: 100}}"
            raise NodeError(item, f"{name} needs '{missing[0]}'", hint)
        return {"name": name}

    def _wrapper(self, item: Node, name: str, problems: Problems) -> dict[str, Any]:
        """What it stands around: another hook, or {call: the user's}."""
        around = item.get("around")
        if around is None:
            hint = f"write comm: {{name: {name}, around: power_sgd}}"
            raise NodeError(item, f"{name} stands around another hook", hint)
        strange = next((child for key, child in item.value.items() if key not in _OF_WRAPPER), None)
        if strange is not None:
            raise NodeError(
                strange, f"{name} has no key '{strange.label}'", "its keys are name and around"
            )
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
                    "description": "what it stands around: a communication hook, or {call: yours}",
                }
                schema["required"] = ["name", "around"]
            full.append(schema)
        bare = [
            name
            for name, state in STATES.items()
            if name not in WRAPPERS and not any(key.required for key in state.values())
        ]
        return {"anyOf": [{"enum": bare}, *full]}
