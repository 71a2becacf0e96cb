"""`do`: one action or a list; an action is its name, or a mapping of its name to its argument."""

from __future__ import annotations

from typing import Any

from hookcli.catalogue.actions import CATALOGUE, Action
from hookcli.config.parse import paths
from hookcli.config.parse.containers import ByType, Fields, Key
from hookcli.config.parse.nodes import Node, NodeError, Problems
from hookcli.config.parse.scalars import (
    Choice,
    Data,
    Named,
    Number,
    Refined,
    Schema,
    Text,
    Validator,
    reject,
)
from hookcli.config.sections.comm import Comm
from hookcli.spec.hooks import ActionSpec, FunctionRef, StateRef
from hookcli.spec.part import TensorPart, parse_heads, parse_index

_FILES = (".safetensors", ".pt", ".pth", ".npy")
_FUNCTION = Refined(
    Text("a function such as file.py:name or package.module:name", "write `my_hooks.py:halve`"),
    paths.function,
)
_STATE = ByType(
    {
        str: _FUNCTION,
        dict: Fields(
            {
                "call": Key(_FUNCTION, "a class or function that returns it", required=True),
                "args": Key(Fields({}, rest=Data()), "its keyword arguments"),
            }
        ),
    },
    expected="file.py:Class or {call: file.py:Class, args: {…}}",
    hint="write `state: {call: my_hooks.py:State, args: {rank: 2}}`",
)


def _state(_: Node, value: FunctionRef | dict[str, Any]) -> StateRef:
    if isinstance(value, FunctionRef):
        return StateRef(value.function)
    return StateRef(value["call"].function, value.get("args", {}))


_REFERENCE = Fields(
    {
        "fn": Key(_FUNCTION, "the function: file.py:name, package.module:name", required=True),
        "signature": Key(
            Choice(("native", "event")),
            "native: PyTorch's own signature of the kind; event: h(event) -> value | None, for "
            "any kind",
        ),
        "state": Key(
            Refined(_STATE, _state), "ddp_comm: the hook's first argument, created for each run"
        ),
    },
    hints={"function": "try `fn`", "call": "try `fn`"},
)
_PAIR = Fields(
    {
        "pack": Key(_FUNCTION, "the function that is called with a saved tensor", required=True),
        "unpack": Key(_FUNCTION, "the function that returns it in backward", required=True),
    }
)


def _reference(_: Node, values: dict[str, Any]) -> FunctionRef:
    return FunctionRef(
        values["fn"].function, values.get("signature", "native"), values.get("state")
    )


class _Function:
    """A function as a string, as {fn, signature}, or for saved_tensors as {pack, unpack}."""

    expected = "a function: file.py:name, or {fn: file.py:name, signature: event}"
    _forms = (_FUNCTION, Refined(_REFERENCE, _reference), _PAIR)

    def read(self, item: Node, problems: Problems) -> FunctionRef | dict[str, FunctionRef]:
        """Return the function, or the two functions of a pair by name."""
        text, reference, pair = self._forms
        if isinstance(item.value, str):
            value = text.read(item, problems)
        elif not isinstance(item.value, dict):
            reject(item, self.expected, "write `call: my_hooks.py:halve`")
        elif item.value.keys() & {"pack", "unpack"}:
            value = pair.read(item, problems)
        else:
            value = reference.read(item, problems)
        return value  # type: ignore[no-any-return]  # each of the three returns one of the two

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"anyOf": [form.schema() for form in self._forms]}


class _Range:
    """[low, high]; either may be infinite."""

    expected = "[low, high], two numbers with low <= high"

    def read(self, item: Node, problems: Problems) -> tuple[float, float]:
        """Return the two numbers."""
        if not isinstance(item.value, list) or len(item.value) != 2:
            reject(item, self.expected, "write `clamp: [-1, 1]`")
        low, high = (Number().read(child, problems) for child in item.value)
        if not low <= high:
            reject(item, self.expected, f"write `clamp: [{high}, {low}]`")
        return low, high

    def schema(self) -> Schema:
        """JSON Schema."""
        return {"type": "array", "items": Number().schema(), "minItems": 2, "maxItems": 2}


def _tensor_file(item: Node, text: str) -> str:
    """Return the absolute path of a saved tensor, with `#name` for one tensor of several."""
    path, mark, name = text.partition("#")
    absolute_path = paths.existing(item, path)
    if not path.endswith(_FILES):
        raise NodeError(
            item,
            f"{path} is not a file of tensors",
            f"choose a file of the form {', '.join('*' + f for f in _FILES)}",
        )
    if mark and not name:
        raise NodeError(item, "missing name of the tensor after #", f"write `{path}#name`")
    return absolute_path + mark + name


def _index(item: Node, text: str) -> TensorPart:
    try:
        parse_index(text)
    except ValueError:
        hint = 'write `index: "[:, 3]"`, with integers, slices, lists of integers and one `...`'
        raise NodeError(item, f"index must be an index as in Python, got '{text}'", hint) from None
    return TensorPart(index=text.strip())


def _heads(item: Node, text: str) -> TensorPart:
    try:
        return parse_heads(text)
    except ValueError:
        hint = "write `heads: 2 of 8`, or `heads: 0, 2 of 8`; the first head is 0"
        raise NodeError(item, f"heads must be numbers of a count, got '{text}'", hint) from None


_PART = {
    "index": Key(
        Refined(Text("an index such as [:, 3]", 'write `index: "[:, 3]"`'), _index),
        "the part of each tensor to change, as Python indexes it",
    ),
    "heads": Key(
        Refined(Text("heads such as 2 of 8", "write `heads: 2 of 8`"), _heads),
        "the heads to change: equal parts of the last axis",
    ),
}


def _on_part(action: Action) -> Fields:
    """Return the form of an action on a part: {value: argument, index: …} or {heads: …}."""
    value = {}
    if action.argument != "none":
        shape = ARGUMENTS[action.argument]
        value = {"value": Key(shape, "the argument of the action", required=True)}
    return Fields({**value, **_PART})


def _read_on_part(action: Action, item: Node, argument: Node, problems: Problems) -> ActionSpec:
    values = _on_part(action).read(argument, problems)
    parts = [values[name] for name in _PART if name in values]
    if len(parts) != 1:
        raise NodeError(
            argument,
            f"{action.name} on a part requires either index or heads",
            f'write `{action.name}: {{index: "[:, 3]"}}`'
            if action.argument == "none"
            else f'write `{action.name}: {{value: …, index: "[:, 3]"}}`',
        )
    return ActionSpec(action.name, values.get("value"), item.place, parts[0])


ARGUMENTS: dict[str, Validator] = {
    "figures": Choice(("norm", "histogram")),
    "number": Number(),
    "positive": Number(above=0),
    "range": _Range(),
    "directory": Refined(Text("a directory"), paths.written),
    "file": Refined(Text("a file of tensors, with #name for one of several"), _tensor_file),
    "function": _Function(),
    "comm": Comm(_Function()),
}
_NAME = Named(
    "action", {row.name: row.does for row in CATALOGUE.values()}, "run `hookcli list actions`"
)


class _Do:
    """One action."""

    expected = "an action: its name, or {name: argument}"

    def read(self, item: Node, problems: Problems) -> ActionSpec:
        """Return the action with its argument."""
        if not isinstance(item.value, str | dict):
            reject(item, self.expected, "write `do: stats`, `do: {scale: 0.5}` or a list of these")
        read = _bare if isinstance(item.value, str) else _with_argument
        return read(item, problems)

    def schema(self) -> Schema:
        """JSON Schema."""
        bare = {action.name: action.does for action in CATALOGUE.values() if _may_be_bare(action)}
        full = {
            action.name: {**_schema(action), "description": action.does}
            for action in CATALOGUE.values()
            if action.argument != "none" or action.parts
        }
        return {
            "anyOf": [
                Named("action", bare, "").schema(),
                {
                    "type": "object",
                    "properties": full,
                    "additionalProperties": False,
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ]
        }


def _schema(action: Action) -> Schema:
    """Return the schema of what follows the name of an action."""
    if not action.parts:
        return ARGUMENTS[action.argument].schema()
    part = _on_part(action).schema()
    if action.argument == "none":
        return part
    return {"anyOf": [ARGUMENTS[action.argument].schema(), part]}


def _may_be_bare(action: Action) -> bool:
    return action.argument == "none" or action.optional


def _bare(item: Node, problems: Problems) -> ActionSpec:
    action = CATALOGUE[_NAME.read(item, problems)]
    if not _may_be_bare(action):
        expected = ARGUMENTS[action.argument].expected
        raise NodeError(item, f"{action.name} requires {expected}", f"write `{{{action.example}}}`")
    return ActionSpec(action.name, None, item.place)


def _with_argument(item: Node, problems: Problems) -> ActionSpec:
    if len(item.value) != 1:
        raise NodeError(
            item,
            f"an action must be a mapping with one key, got {len(item.value)} keys",
            "write a list, as in `do: [{scale: 0.5}, {clamp: [-1, 1]}]`",
        )
    ((key, argument),) = item.value.items()
    name = _NAME.read(Node(key, argument.mark, item.path), problems)
    action = CATALOGUE[name]
    if action.parts and isinstance(argument.value, dict):
        return _read_on_part(action, item, argument, problems)
    if action.argument == "none":
        raise NodeError(argument, f"{name} does not accept an argument", f"write `{name}` alone")
    return ActionSpec(name, ARGUMENTS[action.argument].read(argument, problems), item.place)


DO = _Do()
