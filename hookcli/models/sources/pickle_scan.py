"""Find out what a pickle would build from its opcodes, without importing or calling anything."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, Literal, TypeAlias

_MOST = 200_000  # opcodes that are read, and values that are copied: a fifth of a second
_TENSORS = ("torch._utils._rebuild_", "torch._tensor._rebuild_", "torch.nn.parameter.")
_MAPPINGS = {"collections.OrderedDict", "collections.defaultdict", "builtins.dict"}
_OF_MODULES = {"_modules", "_parameters"}  # in the state of every nn.Module
_BUILDERS = (  # functions that torch pickles a module with, instead of its class
    "torch.fx.graph_module.reduce_", "torch.jit._script.unpackage_script_module",
)  # fmt: skip


@dataclass(slots=True)
class Value:
    """One value. `name` is a string, or the dotted name of a global or of an object's class.

    `items` are those of a tuple or list, or an object's arguments. `entries` are those of a mapping
    or of an object's state, with "" for keys that are not strings.
    """

    kind: Literal["text", "items", "dict", "global", "object", "other"]
    name: str = ""
    items: list[Value] = field(default_factory=list)
    entries: list[tuple[str, Value]] = field(default_factory=list)

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, or a parameter."""
        return self.kind == "object" and self.name.startswith(_TENSORS)

    @property
    def is_module(self) -> bool:
        """Whether it is a module: of torch's own classes, or with a module's state."""
        if self.kind != "object":
            return False
        has_state = any(key in _OF_MODULES for key, _ in self.entries)
        return has_state or self.name.startswith(("torch.nn.modules.", *_BUILDERS))


def read_pickle(file: IO[bytes]) -> Value:
    """Return the value of the pickle that begins here; `file` is then at its end.

    Of a very long pickle only the first opcodes are read. Long arguments are skipped.

    Raises
    ------
    ValueError : it is damaged, or ends too early.
    """
    machine = _Machine()
    arguments: Any = BoundedReader(file)  # has the methods of a file that genops calls
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(arguments)):
            if opcode.name == "STOP":
                return machine.stack[-1]
            if count + machine.copied > _MOST:
                return machine.so_far()
            machine.step(opcode, argument)
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"not a pickle: {error}") from None
    raise ValueError("the pickle is incomplete")


class _Machine:
    """The stack and the memo of an unpickler, with descriptions instead of values."""

    def __init__(self) -> None:
        self.stack: list[Value] = []
        self.copied = 0  # values: a pickle can add the entries of one dict to an object many times
        self._marks: list[int] = []
        self._memo: dict[int, Value] = {}

    def so_far(self) -> Value:
        """Return the outermost value, with the values on the stack that would become part of it."""
        root, *rest = self.stack
        root.entries += _pairs(rest)
        root.entries += [(value.name, value) for value in rest if value.name in _OF_MODULES]
        return root

    def step(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        """Execute one opcode."""
        known = _STEPS.get(opcode.name)
        if known is not None:
            known(self, argument)
            return
        if pickletools.markobject in opcode.stack_before:
            self.cut()
        elif opcode.stack_before:
            del self.stack[-len(opcode.stack_before) :]
        for _ in opcode.stack_after:
            self.stack.append(_value_of(argument))

    def mark(self, _: Any) -> None:
        """Remember the current size of the stack."""
        self._marks.append(len(self.stack))

    def cut(self) -> list[Value]:
        """Pop all values above the last mark."""
        at = self._marks.pop()
        above = self.stack[at:]
        del self.stack[at:]
        return above

    def pop(self) -> Value:
        """Pop the top of the stack."""
        return self.stack.pop()

    def put(self, key: Any) -> None:
        """Store the top in the memo, under a key or the next number."""
        self._memo[len(self._memo) if key is None else int(key)] = self.stack[-1]

    def get(self, key: Any) -> None:
        """Push a value from the memo."""
        self.stack.append(self._memo[int(key)])

    def call(self, function: Value, arguments: Value) -> None:
        """Push the result of a call."""
        if function.name in _MAPPINGS:
            self.stack.append(Value("dict", function.name))
        else:
            items = arguments.items
            own = function.name.endswith("._reconstructor") and items  # protocols 0 and 1
            built = Value("object", (items[0] if own else function).name, items)
            self.stack.append(built)
            if function.name.startswith(_BUILDERS):
                self._give(built, items)

    def called(self, above: list[Value]) -> None:
        """Push the result of calling the first value with the others."""
        self.call(above[0], Value("items", items=above[1:]))

    def reduce(self, _: Any) -> None:
        """Replace a function and its arguments by its result."""
        arguments = self.pop()
        self.call(self.pop(), arguments)

    def new_with_keywords(self, _: Any) -> None:
        """Replace a class, its arguments and its keyword arguments by an object."""
        self.pop()
        self.reduce(None)

    def build(self, _: Any) -> None:
        """Give an object its state."""
        state = self.pop()
        if self.stack[-1].kind == "object":
            self._give(self.stack[-1], [state, *state.items])

    def _give(self, built: Value, parts: list[Value]) -> None:
        """Add the entries of the dicts among `parts` to an object."""
        self.copied += len(parts)
        for part in parts:
            if part.kind == "dict" and self.copied <= _MOST:
                built.entries += part.entries
                self.copied += len(part.entries)

    def push_global(self, argument: Any) -> None:
        """Push a global, named in the opcode."""
        module, _, name = str(argument).partition(" ")
        self.stack.append(Value("global", f"{module}.{name}"))

    def push_global_on_stack(self, _: Any) -> None:
        """Push a global, named on the stack."""
        name, module = self.pop(), self.pop()
        self.stack.append(Value("global", f"{module.name}.{name.name}"))

    def persistent(self, _: Any) -> None:
        """Push what torch stores outside the pickle: a storage, a class, an object."""
        items = self.pop().items
        tag = items[0].name if items else ""
        if tag == "module" and len(items) > 1:
            self.stack.append(items[1])
        elif tag == "reduce_package" and len(items) > 2:
            self.stack.append(Value("object", items[2].name))
        else:
            self.stack.append(Value("other"))

    def collect(self, items: list[Value]) -> None:
        """Push a tuple or a list."""
        self.stack.append(Value("items", items=items))

    def last(self, count: int) -> list[Value]:
        """Pop the last `count` values."""
        items = self.stack[-count:]
        del self.stack[-count:]
        return items

    def append(self, items: list[Value]) -> None:
        """Add items to the list at the top."""
        self.stack[-1].items += items

    def entries(self, flat: list[Value]) -> None:
        """Add entries to the mapping at the top."""
        self.stack[-1].entries += _pairs(flat)


def _pairs(flat: list[Value]) -> list[tuple[str, Value]]:
    keys, values = flat[::2], flat[1::2]
    return [
        (key.name if key.kind == "text" else "", value)
        for key, value in zip(keys, values, strict=False)
    ]


def _value_of(argument: Any) -> Value:
    return Value("text", argument) if isinstance(argument, str) else Value("other")


_Step: TypeAlias = Callable[[_Machine, Any], None]
_STEPS: dict[str, _Step] = {
    "MARK": _Machine.mark,
    "POP_MARK": lambda m, _: (m.cut(), None)[1],
    "DUP": lambda m, _: m.stack.append(m.stack[-1]),
    "EMPTY_TUPLE": lambda m, _: m.collect([]),
    "TUPLE1": lambda m, _: m.collect(m.last(1)),
    "TUPLE2": lambda m, _: m.collect(m.last(2)),
    "TUPLE3": lambda m, _: m.collect(m.last(3)),
    "TUPLE": lambda m, _: m.collect(m.cut()),
    "EMPTY_LIST": lambda m, _: m.collect([]),
    "LIST": lambda m, _: m.collect(m.cut()),
    "APPEND": lambda m, _: m.append(m.last(1)),
    "APPENDS": lambda m, _: m.append(m.cut()),
    "EMPTY_DICT": lambda m, _: m.stack.append(Value("dict")),
    "DICT": lambda m, _: m.stack.append(Value("dict", entries=_pairs(m.cut()))),
    "SETITEM": lambda m, _: m.entries(m.last(2)),
    "SETITEMS": lambda m, _: m.entries(m.cut()),
    "ADDITEMS": lambda m, _: (m.cut(), None)[1],
    "GLOBAL": _Machine.push_global,
    "STACK_GLOBAL": _Machine.push_global_on_stack,
    "REDUCE": _Machine.reduce,
    "NEWOBJ": _Machine.reduce,
    "NEWOBJ_EX": _Machine.new_with_keywords,
    "OBJ": lambda m, _: m.called(m.cut()),
    "INST": lambda m, name: m.called([Value("global", ".".join(str(name).split(" "))), *m.cut()]),
    "BUILD": _Machine.build,
    "PERSID": lambda m, _: m.stack.append(Value("other")),
    "BINPERSID": _Machine.persistent,
    "PUT": _Machine.put,
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "MEMOIZE": _Machine.put,
    "GET": _Machine.get,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
}


# The lengths that a file declares cannot be trusted.

_LONGEST = 1 << 20  # bytes of an argument that are read: names and numbers are shorter


class _Skipped(bytes):
    """A long argument that was not read: it is empty, and its `len` is the declared length."""

    length = 0

    def __len__(self) -> int:
        return self.length


class BoundedReader:
    """A file for `genops`, which otherwise allocates as many bytes as a pickle declares."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.tell = file.tell

    def read(self, length: int) -> bytes:
        """Read `length` bytes, or those that are left."""
        if length <= _LONGEST:
            return self._file.read(length)
        start = self._file.tell()
        try:
            self._file.seek(start + length - 1)
        except (OverflowError, ValueError, OSError):  # longer than any file
            return b""
        if not self._file.read(1):
            return b""
        skipped = _Skipped()
        skipped.length = length
        return skipped

    def readline(self) -> bytes:
        """Read the rest of the line; of a very long line only the beginning."""
        return self._file.readline(_LONGEST)
