"""`model` and `inputs`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hookcli.config.parse import paths
from hookcli.config.parse.code_refs import Code
from hookcli.config.parse.containers import ByType, Fields, Key, ListOf, not_a_string, unknown_key
from hookcli.config.parse.nodes import Node, NodeError, Problems, ReportedError, plain
from hookcli.config.parse.scalars import Data, Refined, Schema, Text, reject
from hookcli.errors import RequestError
from hookcli.sentences import CALL_HINT, given_twice
from hookcli.spec.inputs import (
    DictSpec,
    FileSpec,
    FunctionSpec,
    InputSpec,
    ListSpec,
    Spec,
    TupleSpec,
    parse_inputs,
)
from hookcli.spec.request import Argument, ModelSpec, parse_argv, parse_method
from hookcli.spec.yaml import flow


def _located(item: Node) -> Any:
    """Return plain data in which the files of `{call: …}` are absolute."""
    if isinstance(item.value, list):
        return [_located(child) for child in item.value]
    if not isinstance(item.value, dict):
        return item.value
    mapping = {key: _located(child) for key, child in item.value.items()}
    call = item.get("call")
    if call is None:
        return mapping
    unknown = [child for key, child in item.value.items() if key not in {"call", "args"}]
    if unknown:
        raise unknown_key(unknown[0], unknown[0].label, ("call", "args"), CALL_HINT)
    if not isinstance(call.value, str):
        reject(call, "a string", CALL_HINT)
    args = item.get("args")
    if args is not None and not isinstance(args.value, list | dict):
        reject(args, "a mapping or a list", CALL_HINT)
    return {**mapping, "call": paths.code(call, call.value)}


def _argument(name: str | None, node: Node) -> Argument:
    text = flow(plain(node))
    return Argument(name, _located(node), text if name is None else f"{name}={text}", node.place)


def _arguments(item: Node, _: Any) -> tuple[Argument, ...]:
    if isinstance(item.value, list):
        return tuple(_argument(None, child) for child in item.value)
    return tuple(_argument(str(name), child) for name, child in item.value.items())


_ARGS = Refined(
    ByType(
        {dict: Fields({}, rest=Data()), list: ListOf(Data())},
        expected="a mapping of names to values, or a list of values",
        hint="write `args: {depth: 18}`",
    ),
    _arguments,
)
_ARGV = ByType(
    {str: Text(empty=True), list: ListOf(Text(empty=True))},
    expected="a string as in a shell, or a list of strings",
    hint='write `argv: "--lr 0.1"` or `argv: [--lr, "0.1"]`',
)


def _script_arguments(item: Node, value: Any) -> tuple[str, ...]:
    if not isinstance(value, str):
        return tuple(value)
    try:
        return parse_argv(value, item.place)
    except RequestError as error:
        raise NodeError(item, error.message, error.hint) from None


def _method(item: Node, text: str) -> str:
    """Return the name of a method.

    Raises
    ------
    NodeError : it is not a name.
    """
    try:
        return parse_method(text, item.place)
    except RequestError as error:
        raise NodeError(item, error.message, error.hint) from None


_SOURCE = Refined(Text("a model, as MODEL on the command line"), paths.model_source)
_KEYS = Fields(
    {
        "source": Key(
            _SOURCE, "path.py[:attr], package.module:attr or an archive, as MODEL", required=True
        ),
        "args": Key(
            _ARGS,
            "constructor arguments; {call: package.module:attr, args: {…}} constructs an argument",
        ),
        "argv": Key(
            Refined(_ARGV, _script_arguments),
            "arguments of the script that defines the model: its sys.argv while it is imported",
        ),
        "method": Key(
            Refined(Text("the name of a method", "write `method: encode`"), _method),
            "the method of the model that runs in place of forward",
        ),
        "weights": Key(
            Refined(Text(), paths.weights),
            "a state dict: a .safetensors or .pt file, an index, or a folder with one",
        ),
    },
    hints={
        "kwargs": "try `args`",
        "path": "try `source`",
        "trust": "pass `--trust` on the command line",
    },
)
MODEL = ByType(
    {str: _SOURCE, dict: _KEYS},
    expected="a string or a mapping {source, args, argv, method, weights}",
    hint="write `model: model.py:Net`",
)


def model_of(value: str | dict[str, Any]) -> ModelSpec:
    """Return the model of what was read."""
    if isinstance(value, str):
        return ModelSpec(value)
    return ModelSpec(
        value["source"],
        value.get("args", ()),
        value.get("weights"),
        argv=value.get("argv", ()),
        method=value.get("method"),
    )


class _Input:
    """One argument: a string as for `--input`, or a list or mapping of these."""

    expected = "a string such as 2x3x64x64, or a list or mapping of these"

    def read(self, item: Node, problems: Problems) -> InputSpec:
        """Return the input. It has a name only if the string gives one, as in `mask=2x3:bool`."""
        if isinstance(item.value, str):
            return self._text(item)
        spec = self._nested(item, problems)
        return InputSpec(None, spec, flow(plain(item)), item.place)

    def schema(self) -> Schema:
        """JSON Schema, by reference because it is recursive."""
        return {"$ref": "#/$defs/input"}

    def _text(self, item: Node) -> InputSpec:
        try:
            (input_spec,) = parse_inputs((item.value,))
        except RequestError as error:
            raise NodeError(item, error.message, error.hint) from None
        return replace(input_spec, spec=_absolute(item, input_spec.spec), origin=item.place)

    def _nested(self, item: Node, problems: Problems) -> Spec:
        if isinstance(item.value, str):
            inner = self._text(item)
            if inner.name is not None:
                message = f"'{inner.name}=' is not allowed inside an argument"
                raise NodeError(item, message, f"remove `{inner.name}=`")
            return inner.spec
        if not isinstance(item.value, list | dict):
            hint = f"write `value:{flow(item.value)}` for a plain value, or put a shape in quotes"
            reject(item, self.expected, "write `value:none`" if item.value is None else hint)
        before = len(problems)
        members: list[tuple[Any, Spec]] = []
        pairs = item.value.items() if isinstance(item.value, dict) else enumerate(item.value)
        for key, inner in pairs:
            with problems.catching():
                members.append((_key(key, inner), self._nested(inner, problems)))
        if len(problems) > before:
            raise ReportedError
        if isinstance(item.value, dict):
            return DictSpec(tuple(members))
        return ListSpec(tuple(spec for _, spec in members))


def _key(key: object, node: Node) -> object:
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise not_a_string(node, key)
    return key


def _absolute(item: Node, spec: Spec) -> Spec:
    if isinstance(spec, FileSpec):
        return FileSpec(paths.existing(item, spec.path))
    if isinstance(spec, FunctionSpec):
        source = Code(paths.existing(item, spec.source), item, "a function")
        return FunctionSpec(source, spec.name)
    if isinstance(spec, DictSpec):
        return DictSpec(tuple((key, _absolute(item, inner)) for key, inner in spec.items))
    if isinstance(spec, ListSpec | TupleSpec):
        return type(spec)(tuple(_absolute(item, inner) for inner in spec.items))
    return spec


INPUT = _Input()
DEFS: Schema = {
    "input": {
        "description": "2x3x64x64, 2x16:int64:0..100, value:true, batch.pt or make.py:batch; or a "
        "list or mapping of these",
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"$ref": "#/$defs/input"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/input"}},
        ],
    }
}


class _Inputs:
    """`inputs`: a list (positional arguments), a mapping (keyword arguments) or one string."""

    expected = "a list (positional arguments), a mapping (keyword arguments) or a string"

    def read(self, item: Node, problems: Problems) -> tuple[InputSpec, ...]:
        """Return the inputs in their order."""
        if isinstance(item.value, str):
            return (INPUT.read(item, problems),)
        if isinstance(item.value, list):
            inputs = ListOf(INPUT, least=1).read(item, problems)
            return _distinct(item, inputs)
        if not isinstance(item.value, dict):
            hint = 'write `inputs: ["2x3x64x64"]` or `inputs: {ids: "2x16:int64:0..100"}`'
            reject(item, self.expected, hint)
        named = Fields({}, rest=INPUT).read(item, problems)
        for key, input_spec in named.items():
            if input_spec.name is not None:
                raise NodeError(
                    item.value[key],
                    f"'{input_spec.name}=' is not allowed after the key '{key}'",
                    f"remove `{input_spec.name}=`",
                )
        return tuple(replace(input_spec, name=key) for key, input_spec in named.items())

    def schema(self) -> Schema:
        """JSON Schema."""
        schema = INPUT.schema()
        return {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": schema, "minItems": 1},
                {"type": "object", "additionalProperties": schema},
            ]
        }


def _distinct(item: Node, inputs: tuple[InputSpec, ...]) -> tuple[InputSpec, ...]:
    names: set[str] = set()
    for i, input_spec in enumerate(inputs):
        if input_spec.name is not None and input_spec.name in names:
            raise NodeError(item.value[i], given_twice(input_spec.name), "remove one of them")
        names.add(input_spec.name or "")
    return inputs


INPUTS = _Inputs()
