"""`comm`: torch's communication hooks, with the state that each takes in torch's own words."""

from __future__ import annotations

from typing import Any

from hookcli.config.reading.containers import Key, Keys
from hookcli.config.reading.items import FaultError, Item, Problems
from hookcli.config.reading.shapes import Flag, Named, Number, Schema, Whole, misfit

_POWER_SGD = {
    "matrix_approximation_rank": Key(Whole(1), "the rank; 1 by default"),
    "start_powerSGD_iter": Key(Whole(0), "the step from which it compresses; 1000 by default"),
    "min_compression_rate": Key(Number(above=0), "compress only where it saves this factor"),
    "use_error_feedback": Key(Flag(), "add what was lost to the next step's gradient"),
    "warm_start": Key(Flag(), "begin with the last step's matrices"),
    "orthogonalization_epsilon": Key(Number(), "added where columns are orthogonalised"),
    "random_seed": Key(Whole(0), "of the first matrices"),
    "compression_stats_logging_frequency": Key(Whole(1), "steps between two log lines"),
    "batch_tensors_with_same_shape": Key(Flag(), "compress tensors of one shape together"),
}
_LOCAL_SGD = {
    "start_localSGD_iter": Key(Whole(0), "the step from which ranks go apart", required=True),
    "post_local_gradient_allreduce": Key(Flag(), "average within a subgroup after it"),
}
STATES: dict[str, dict[str, Key]] = {
    "allreduce": {},
    "fp16_compress": {},
    "bf16_compress": {},
    "powersgd": _POWER_SGD,
    "batched_powersgd": _POWER_SGD,
    "quantize_per_tensor": {},
    "quantize_per_channel": {},
    "noop": {},
    "post_local_sgd": _LOCAL_SGD,
}


def _bare(word: str) -> str:
    return (
        word.lower().removesuffix("_hook").replace("_sgd", "sgd").replace("localsgd", "local_sgd")
    )


_NAME = Named(
    "communication hook", dict.fromkeys(STATES, ""), f"write one of {', '.join(STATES)}", bare=_bare
)
_NAME_KEY = Key(_NAME, "which of torch's communication hooks", required=True)


class _Comm:
    """A hook's name, or {name, **state}."""

    wants = "the name of a communication hook, or {name: powersgd, …}"

    def read(self, item: Item, problems: Problems) -> dict[str, Any]:
        """The name with the state that was given."""
        if isinstance(item.value, str):
            name = _NAME.read(item, problems)
            missing = [key for key, one in STATES[name].items() if one.required]
            if missing:
                hint = f"write comm: {{name: {name}, {missing[0]}: 100}}"
                raise FaultError(item, f"{name} needs '{missing[0]}'", hint)
            return {"name": name}
        if not isinstance(item.value, dict):
            misfit(item, self.wants, "write comm: fp16_compress")
        named = item.get("name")
        if named is None:
            raise FaultError(item, "comm has no 'name'", "write comm: {name: powersgd, …}")
        state = STATES[_NAME.read(named, problems)]
        return Keys({"name": _NAME_KEY, **state}).read(item, problems)

    def schema(self) -> Schema:
        """JSON Schema: the names, and a mapping for each."""
        full = []
        for name, state in STATES.items():
            one = Keys({"name": _NAME_KEY, **state}).schema()
            one["properties"]["name"] = {"const": name, "description": _NAME_KEY.does}
            full.append(one)
        bare = [n for n, state in STATES.items() if not any(k.required for k in state.values())]
        return {"anyOf": [{"enum": bare}, *full]}


COMM = _Comm()
