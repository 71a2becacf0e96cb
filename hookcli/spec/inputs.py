"""The grammar of `--input` and `--target`, without torch.

INPUT  = [NAME "="] SPEC
SPEC   = TENSOR | "value:" YAML | FILE.py ":" NAME | FILE
       | "{" KEY ":" SPEC {"," KEY ":" SPEC} "}" | "[" SPEC {"," SPEC} "]" | "(" SPEC {"," SPEC} ")"
TENSOR = SHAPE [":" DTYPE [":" FILL]]  |  DTYPE "[" [SIZE {"," SIZE}] "]" [":" FILL]
SHAPE  = SIZE {"x" SIZE}
FILL   = "ones" | "zeros" | "randn" | "rand" | LOW ".." HIGH         (HIGH excluded)
FILE   = *.pt | *.pth | *.npy | *.safetensors
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from hookcli.errors import RequestError
from hookcli.sentences import given_twice, invalid_yaml, unknown
from hookcli.text import nearest, try_instead

CLOSES = {"{": "}", "[": "]", "(": ")"}
DEEPEST = 20  # brackets inside brackets
_HINT = "write `{image: 2x3x8x8, mask: 2x8x8}`, `[2x3, 2x4]` or `(2x3, 2x4)`"

Part: TypeAlias = tuple[str | None, str]  # the key of a mapping, else None; and the SPEC


def is_nested(body: str) -> bool:
    """Return whether a SPEC is in brackets."""
    return len(body) > 1 and CLOSES.get(body[0]) == body[-1]


def parts(body: str) -> list[Part]:
    """Return what is between the brackets of a SPEC.

    Raises
    ------
    ValueError : brackets or quotes do not match, an item is empty, a key is missing or given twice.
        The arguments are a message and a hint.
    """
    texts = [text.strip() for text in _split(body[1:-1])]
    if texts and not texts[-1]:
        texts.pop()  # the comma at the end, as in `(2x3,)`
    if not all(texts):
        raise ValueError("an item is empty", _HINT)
    if body[0] != "{":
        return [(None, text) for text in texts]
    pairs = [_pair(text) for text in texts]
    keys = [key for key, _ in pairs]
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise ValueError(f"key '{key}' is given twice", "remove one of them")
    return pairs


def rewritten(body: str, change: Callable[[str], str]) -> str:
    """Return a SPEC with every part that is not in brackets changed."""
    if not is_nested(body):
        return change(body)
    pairs = [(key, rewritten(inner, change)) for key, inner in parts(body)]
    texts = [inner if key is None else f"{key}: {inner}" for key, inner in pairs]
    comma = "," if body[0] == "(" and len(texts) == 1 else ""
    return f"{body[0]}{', '.join(texts)}{comma}{body[-1]}"


def _pair(text: str) -> Part:
    key, colon, inner = text.partition(":")
    key = key.strip().strip("\"'")
    if not colon or not key or not inner.strip():
        raise ValueError(f"'{text}' is not a key with a value", _HINT)
    return key, inner.strip()


def _split(text: str) -> Iterator[str]:
    """Yield the texts between the commas that are not inside brackets or quotes."""
    closing: list[str] = []
    quote, start = "", 0
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in CLOSES:
            closing.append(CLOSES[letter])
            if len(closing) > DEEPEST:
                raise ValueError(f"brackets are nested deeper than {DEEPEST} levels", _HINT)
        elif closing and letter == closing[-1]:
            closing.pop()
        elif letter in CLOSES.values():
            raise ValueError(f"'{letter}' does not match an opening bracket", _HINT)
        elif letter == "," and not closing:
            yield text[start:i]
            start = i + 1
    if quote or closing:
        raise ValueError(f"a {'quote' if quote else 'bracket'} is not closed", _HINT)
    if text.strip():
        yield text[start:]


_ALIASES = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16", "byte": "uint8", "cfloat": "complex64", "cdouble": "complex128",
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
}  # fmt: skip
FLOATING = (
    "float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "float8_e4m3fnuz", "float8_e5m2fnuz",
)  # fmt: skip
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128", "complex32")
DTYPES = (*FLOATING, *INTEGERS, *COMPLEX, "bool")

HINT = (
    "write a shape (`2x3x224x224`, `2x16:int64:0..50257`, `name=2x3:float32:ones`), a value "
    "(`value:true`) or a file (`batch.pt`, `batch.py:function`)"
)
INPUT, TARGET = "--input", "--target"


@dataclass(frozen=True, slots=True)
class Fill:
    """How a tensor's elements are generated. Kind "range" draws from [low, high)."""

    kind: Literal["default", "ones", "zeros", "randn", "rand", "range"] = "default"
    low: int | float = 0
    high: int | float = 0


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor to create. If `dtype` is None, it has the model's own floating-point dtype."""

    shape: tuple[int, ...]
    dtype: str | None = None
    fill: Fill = Fill()


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """A plain value, passed unchanged."""

    value: Any


@dataclass(frozen=True, slots=True)
class FileSpec:
    """A file that contains tensors. It is read without running code."""

    path: str


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A name in a Python file: a loader, or a function without arguments that returns a batch."""

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class ListSpec:
    """A list of inputs that is one argument."""

    items: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class TupleSpec:
    """A tuple of inputs that is one argument."""

    items: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class DictSpec:
    """A mapping of inputs that is one argument."""

    items: tuple[tuple[str, Spec], ...]


Spec: TypeAlias = (
    "TensorSpec | ValueSpec | FileSpec | FunctionSpec | ListSpec | TupleSpec | DictSpec"
)


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One `--input`: for the keyword `name`, or None for the next position.

    `origin` is its place in a configuration: "hooks.yaml:3: inputs[0]". `flag` is "--target" for a
    part of the target.
    """

    name: str | None
    spec: Spec
    text: str
    origin: str = ""
    flag: str = INPUT

    @property
    def place(self) -> str:
        """The place for errors."""
        return self.origin or f"{self.flag} {self.text}"


_NAME = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_FUNCTION = re.compile(r"(.+\.py):([A-Za-z_][\w.]*)")
_BRACKETS = re.compile(r"([a-z][a-z0-9_]*)\[([0-9, ]*)\](?::(.*))?")
_SHAPE = re.compile(r"[0-9]+(?:x[0-9]+)*")
_COMMAS = re.compile(r"[0-9]+(?:, ?[0-9]+)+")
_RANGE = re.compile(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\.\.([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)", re.I)
_LONGEST = 1000  # characters of a range, because the pattern is slow on many dots
LARGEST = 2**63 - 1  # of torch's integers
_SHOWN = 80  # characters of a number that an error shows
_RANGE_HINT = "write `LOW..HIGH`, as in `0..50257`"
_FILES = (".pt", ".pth", ".npy", ".safetensors")


def _refuse(text: str, message: str, hint: str = HINT) -> NoReturn:
    raise RequestError(message, place=f"{INPUT} {text}", hint=hint)


def canonical_dtype(name: str) -> str | None:
    """Return torch's own name of a dtype, or None if the name is unknown."""
    name = name.removeprefix("torch.")
    name = _ALIASES.get(name, name)
    return name if name in DTYPES else None


def _dtype(text: str, name: str) -> str:
    dtype = canonical_dtype(name)
    if dtype is None:
        guess = nearest(name, [*DTYPES, *_ALIASES])
        choices = ", ".join(DTYPES)
        _refuse(text, unknown("dtype", name), try_instead(guess, f"choose from {choices}"))
    return dtype


def _end(text: str, word: str) -> int | float:
    """Return one bound of a range: an integer or a finite float."""
    try:
        number = float(word) if re.search("[.e]", word, re.I) else int(word)
        if math.isfinite(float(number)):
            return number
    except (ValueError, OverflowError):  # two points; an int beyond the range of a float
        pass
    _refuse(text, f"'{_short(word)}' is not a finite number", _RANGE_HINT)


def _sizes(text: str, words: list[str]) -> tuple[int, ...]:
    """Return the sizes of a shape. Neither a size nor their product may exceed torch's limit."""
    sizes = [int((word.lstrip("0") or "0")[:20]) for word in words]  # 20 digits exceed the limit
    if max(sizes, default=0) > LARGEST or math.prod(sizes) > LARGEST:
        what = "size" if max(sizes, default=0) > LARGEST else "number of elements"
        shape = _short("x".join(words))
        _refuse(text, f"the {what} of '{shape}' must be below 2^63", "use smaller sizes")
    return tuple(sizes)


def _short(word: str) -> str:
    return word if len(word) <= _SHOWN else f"{word[: _SHOWN - 1]}…"


def _fill(text: str, word: str, dtype: str) -> Fill:
    if len(word) <= _LONGEST and (match := _RANGE.fullmatch(word)):
        low, high = _end(text, match[1]), _end(text, match[2])
        if not low < high:
            _refuse(
                text,
                f"the range {_short(word)} is empty",
                "write `LOW..HIGH` with LOW < HIGH: HIGH is excluded",
            )
        if dtype == "bool" or dtype in COMPLEX:
            _refuse(text, f"{dtype} does not support a range", "remove the range")
        if dtype in INTEGERS and not (isinstance(low, int) and isinstance(high, int)):
            _refuse(text, f"the bounds of a range of {dtype} must be integers", _RANGE_HINT)
        if dtype.startswith("uint") and low < 0:
            hint = "use a lower bound of at least 0, or dtype int64"
            _refuse(text, f"{dtype} does not support negative values", hint)
        return Fill("range", low, high)
    if word in {"ones", "zeros"}:
        return Fill("ones" if word == "ones" else "zeros")
    if word in {"randn", "rand"}:
        if dtype in INTEGERS or dtype == "bool":
            _refuse(
                text,
                f"{dtype} does not support {word}",
                "use ones, zeros or a range such as `0..10`",
            )
        return Fill("randn" if word == "randn" else "rand")
    _refuse(text, unknown("fill", word), "choose from ones, zeros, randn, rand, LOW..HIGH")


def _hint_for(text: str, body: str) -> str:
    """Return the hint for what is no input: sizes with commas, or a bracket that is not closed."""
    if _COMMAS.fullmatch(body):
        return f"write `{text.replace(', ', 'x').replace(',', 'x')}`"
    closing = CLOSES.get(body[:1])
    return HINT if closing is None else f"close the `{body[0]}` with `{closing}`"


def _tensor(text: str, body: str) -> TensorSpec:
    if match := _BRACKETS.fullmatch(body):
        dtype = _dtype(text, match[1])
        sizes = [part.strip() for part in match[2].split(",")] if match[2].strip() else []
        if not all(part.isascii() and part.isdigit() for part in sizes):
            _refuse(
                text,
                f"'[{match[2]}]' is not a shape",
                "write sizes separated by commas, as in `float32[2,3]`",
            )
        fill = _fill(text, match[3], dtype) if match[3] is not None else Fill()
        return TensorSpec(_sizes(text, sizes), dtype, fill)
    shape, *rest = body.split(":", 2)
    if not _SHAPE.fullmatch(shape):
        _refuse(text, f"'{body}' is not an input", _hint_for(text, body))
    sizes_ = _sizes(text, shape.split("x"))
    if not rest:
        return TensorSpec(sizes_)
    dtype = _dtype(text, rest[0])
    return TensorSpec(sizes_, dtype, _fill(text, rest[1], dtype) if len(rest) > 1 else Fill())


def _spec(text: str, body: str) -> Spec:
    if is_nested(body):
        return _nested(text, body)
    if body.startswith("value:"):
        from hookcli.spec.yaml import load_value  # PyYAML is imported only for a value

        word = body.removeprefix("value:")
        try:
            return ValueSpec(None if word.lower() == "none" else load_value(word))
        except ValueError as error:
            _refuse(
                text,
                invalid_yaml(error),
                "write a value such as `value:3`, `value:true` or `value:[1, 2]`",
            )
    if match := _FUNCTION.fullmatch(body):
        return FunctionSpec(match[1], match[2])
    if body.endswith(_FILES):
        return FileSpec(body)
    return _tensor(text, body)


def _nested(text: str, body: str) -> Spec:
    try:
        inside = parts(body)
    except ValueError as error:
        _refuse(text, *error.args)
    specs = [(key, _spec(text, inner)) for key, inner in inside]
    if body[0] == "{":
        return DictSpec(tuple((key or "", spec) for key, spec in specs))
    items = tuple(spec for _, spec in specs)
    return ListSpec(items) if body[0] == "[" else TupleSpec(items)


def _named(text: str) -> tuple[str | None, str]:
    """Return the name of an input, if it has one, and the rest."""
    match = _NAME.fullmatch(text)
    return (match[1], match[2].strip()) if match else (None, text.strip())


def parse_inputs(texts: tuple[str, ...], flag: str = INPUT) -> tuple[InputSpec, ...]:
    """Return the inputs that the flags describe, in their order. `flag` is the flag, for errors.

    Raises
    ------
    RequestError : an input is malformed, or a keyword is given twice.

    """
    inputs: list[InputSpec] = []
    for text in texts:
        name, body = _named(text)
        try:
            if name is not None and any(input_spec.name == name for input_spec in inputs):
                _refuse(text, given_twice(name), "remove one of them")
            inputs.append(InputSpec(name, _spec(text, body), text, flag=flag))
        except RequestError as error:
            error.place = f"{flag} {text}"
            raise
    return tuple(inputs)


def with_files(text: str, change: Callable[[str], str]) -> str:
    """Return the text of an input with `change` applied to each path of a file in it."""
    name, body = _named(text)

    def leaf(inner: str) -> str:
        match spec := _spec(text, inner):
            case FileSpec():
                return change(spec.path)
            case FunctionSpec():
                return f"{change(spec.source)}:{spec.name}"
        return inner

    return ("" if name is None else f"{name}=") + rewritten(body, leaf)
