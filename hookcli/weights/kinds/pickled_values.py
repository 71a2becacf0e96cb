"""Reads a pickle that torch.save wrote without importing or calling anything that it names.

It is the unpickler of Python's own library, written in Python, in which names of functions and
classes become descriptions. A call of one of torch's functions for tensors becomes a description of
the tensor; any other becomes an `OpaqueObject`. No code of the file or of a library runs.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, ClassVar

from hookcli.weights.stored import checked_shape

_MOST = 1 << 25  # bytes of a pickle: each may become an object of a hundred
_STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16", "LongStorage": "int64", "IntStorage": "int32",
    "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
    "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "QInt8Storage": "qint8", "QUInt8Storage": "quint8",
    "QInt32Storage": "qint32", "UntypedStorage": "uint8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class GlobalName:
    """A name of a function, a class or a constant, such as torch.float32."""

    name: str


@dataclass(eq=False, slots=True)
class OpaqueObject:
    """An object that was not built: the name of what would have made it, and what it would hold."""

    name: str
    args: tuple[Any, ...] = ()
    entries: dict[Any, Any] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    state: Any = None

    def append(self, item: Any) -> None:
        """Keep an item of a list."""
        self.items.append(item)

    def extend(self, items: Any) -> None:
        """Keep items of a list."""
        self.items.extend(items)

    def add(self, item: Any) -> None:
        """Keep an item of a set."""
        self.items.append(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.entries[key] = value


@dataclass(frozen=True, slots=True)
class PickledStorage:
    """A storage that a pickle refers to: its key, and how many elements of its dtype it has."""

    key: str
    dtype: str
    numel: int
    offset: int = 0  # elements from the start of the storage: only very old files have it


@dataclass(frozen=True, slots=True, eq=False)
class PickledTensor:
    """A tensor: where its elements are, if it is strided; `storage` is None if it has no values.

    `unread` tells why its values cannot be read, and `layout` what it is. `inner` are the tensors
    that a sparse one consists of.
    """

    storage: PickledStorage | None
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()
    offset: int = 0
    scale: float | None = None
    zero: int = 0
    layout: str = ""
    unread: str = ""
    inner: tuple[PickledTensor, ...] = ()


class BoundedFile:
    """A file whose reads are never longer than what is left of it, whatever a pickle claims."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size
        self._start = file.tell()

    def read(self, length: int = -1) -> bytes:
        """Read so many bytes, or those that are left.

        Raises
        ------
        ValueError : the pickle is longer than hookcli reads.
        """
        at = self._file.tell()
        if at + max(length, 0) - self._start > _MOST and length <= self._size - at:
            raise ValueError(f"it is longer than {_MOST:,} bytes")
        return self._file.read(min(length, max(self._size - at, 0)))

    def readline(self) -> bytes:
        """Read the rest of the line; of a very long line only the beginning."""
        return self._file.readline(1 << 20)


def read_values(file: IO[bytes], size: int) -> Any:
    """Return the value of the pickle that begins here; `file` is then at its end.

    Raises
    ------
    ValueError : it is damaged, or not a pickle that torch.save writes.
    """
    try:
        return _Unpickler(BoundedFile(file, size)).load()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # a hostile pickle raises anything
        text = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"its pickle cannot be read: {text:.200}") from None


# Python's unpickler in C allocates as much memory as a pickle asks for; that in Python does not.
class _Unpickler(pickle._Unpickler):
    """Builds descriptions. Nothing that a pickle names is looked up."""

    stack: list[Any]
    append: Callable[[Any], None]
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, file: BoundedFile) -> None:
        super().__init__(file, encoding="utf-8", errors="backslashreplace")

    def find_class(self, module: str, name: str) -> Any:
        """Return a description of a global."""
        return GlobalName(f"{module}.{name}")

    def get_extension(self, code: int) -> None:
        """Refuse names from the registry of this process."""
        raise ValueError("it uses the extension registry")

    def persistent_load(self, pid: Any) -> Any:
        """Return a description of a storage."""
        if isinstance(pid, tuple) and len(pid) >= 5 and pid[0] == "storage":
            return _storage(pid)
        return OpaqueObject("a value outside of the pickle")

    def load_reduce(self) -> None:
        """Replace a function and its arguments by what describes the result."""
        args = self.stack.pop()
        self.stack[-1] = _called(self.stack[-1], args)

    def load_newobj(self) -> None:
        """Replace a class and its arguments by what describes the object."""
        args = self.stack.pop()
        self.stack[-1] = _called(self.stack[-1], args)

    def load_newobj_ex(self) -> None:
        """Replace a class, its arguments and its keywords by what describes the object."""
        self.stack.pop()
        self.load_newobj()

    def _instantiate(self, klass: Any, args: Any) -> None:
        self.append(_called(klass, tuple(args)))

    def load_build(self) -> None:
        """Give a description the state of the object; nothing else has one."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], OpaqueObject):
            self.stack[-1].state = state


_OPCODES: tuple[tuple[bytes, Callable[[Any], None]], ...] = (
    (pickle.REDUCE, _Unpickler.load_reduce),
    (pickle.NEWOBJ, _Unpickler.load_newobj),
    (pickle.NEWOBJ_EX, _Unpickler.load_newobj_ex),
    (pickle.BUILD, _Unpickler.load_build),
)
_Unpickler.dispatch.update({code[0]: step for code, step in _OPCODES})


def _storage(pid: tuple[Any, ...]) -> PickledStorage:
    kind, key, numel = pid[1], pid[2], pid[4]
    name = kind.name.rpartition(".")[2] if isinstance(kind, GlobalName) else ""
    dtype = _STORAGES.get(name)
    if dtype is None or not isinstance(key, str) or type(numel) is not int or numel < 0:
        raise ValueError("a storage has another form than torch gives it")
    view = pid[5] if len(pid) > 5 else None  # of torch before 0.4
    offset = 0
    if view is not None:
        if not isinstance(view, tuple) or len(view) != 3 or type(view[1]) is not int:
            raise ValueError("a view of a storage has another form than torch gives it")
        offset = view[1]
    return PickledStorage(key, dtype, numel, offset)


def _called(function: Any, args: Any) -> Any:
    """Return what describes the result of a call."""
    if not isinstance(args, tuple):
        raise ValueError("the arguments of a call are not a tuple")
    if not isinstance(function, GlobalName):
        raise ValueError("it calls what is not a function")
    build = _BUILDERS.get(function.name)
    return OpaqueObject(function.name, args) if build is None else build(*args)


def _tensor(
    storage: Any, offset: Any, shape: Any, stride: Any, *more: Any, dtype: str | None = None
) -> PickledTensor:
    if not isinstance(storage, PickledStorage):
        raise ValueError("a tensor has no storage")
    dims, steps = checked_shape(shape), _checked_stride(stride)
    if len(dims) != len(steps) or type(offset) is not int or offset < 0:
        raise ValueError("the strides of a tensor do not fit its shape")
    own = dtype or storage.dtype
    # `storage.offset` counts elements of the storage's dtype, which are those of the tensor.
    return PickledTensor(storage, own, dims, steps, offset + storage.offset)


def _checked_stride(stride: Any) -> tuple[int, ...]:
    if not isinstance(stride, tuple | list):
        raise ValueError("the strides of a tensor are not a tuple")
    for step in stride:
        if type(step) is not int or not 0 <= step < 1 << 62:
            raise ValueError("a stride is not a positive number")
    return tuple(stride)


def _tensor_v3(
    storage: Any, offset: Any, shape: Any, stride: Any, grad: Any, hooks: Any, dtype: Any, *_: Any
) -> PickledTensor:
    return _tensor(storage, offset, shape, stride, dtype=_dtype(dtype))


def _dtype(value: Any) -> str:
    """Return the name of a dtype that a pickle names."""
    if not isinstance(value, GlobalName) or not value.name.startswith("torch."):
        raise ValueError("a tensor has no dtype")
    return value.name.removeprefix("torch.")[:40]


def _parameter(data: Any, *_: Any) -> Any:
    return data


def _quantized(
    storage: Any, offset: Any, shape: Any, stride: Any, how: Any, *_: Any
) -> PickledTensor:
    plain = _tensor(storage, offset, shape, stride)
    name = how[0].name if isinstance(how, tuple) and isinstance(how[0], GlobalName) else ""
    if name == "torch.per_tensor_affine" and len(how) == 3:
        scale, zero = how[1], how[2]
        if isinstance(scale, float) and type(zero) is int and math.isfinite(scale):
            return PickledTensor(
                plain.storage, plain.dtype, plain.shape, plain.stride, plain.offset,
                scale, zero, "quantized per tensor",
            )  # fmt: skip
    return PickledTensor(
        plain.storage, plain.dtype, plain.shape, plain.stride, plain.offset,
        layout="quantized per channel",
        unread="hookcli does not read tensors that are quantized per channel",
    )  # fmt: skip


def _sparse(layout: Any, data: Any) -> PickledTensor:
    if not isinstance(data, tuple) or not isinstance(layout, GlobalName):
        raise ValueError("a sparse tensor has another form than torch gives it")
    inner = tuple(part for part in data if isinstance(part, PickledTensor))
    # Its size is behind its tensors: (indices, values, size), (crow, col, values, size).
    size = next((part for part in data if not isinstance(part, PickledTensor)), None)
    if not inner or size is None:
        raise ValueError("a sparse tensor has another form than torch gives it")
    return PickledTensor(
        None,
        inner[-1].dtype,
        checked_shape(size),
        layout=layout.name.removeprefix("torch."),
        unread="hookcli does not read the values of sparse tensors",
        inner=inner,
    )


def _meta(dtype: Any, shape: Any, *_: Any) -> PickledTensor:
    return PickledTensor(
        None,
        _dtype(dtype),
        checked_shape(shape),
        layout="meta",
        unread="a meta tensor has no values",
    )


def _from_type(function: Any, _kind: Any, args: Any, *_: Any) -> Any:
    """Return the tensor of a subclass: what its function makes of its arguments."""
    return _called(function, args)


def _on_device(data: Any, *_: Any) -> Any:
    if isinstance(data, PickledTensor):
        return data
    return OpaqueObject("a tensor of another device")


_BUILDERS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor_v3,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._utils._rebuild_qtensor": _quantized,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_meta_tensor_no_storage": _meta,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _on_device,
    "torch._tensor._rebuild_from_type_v2": _from_type,
    "torch._tensor._rebuild_from_type": _from_type,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.serialization._get_layout": lambda name, *_: GlobalName(f"{name}"[:40]),
    "collections.OrderedDict": lambda *pairs: dict(_pairs(pairs)),
    "collections.defaultdict": lambda *_: {},
    "collections.Counter": lambda *_: {},
    "builtins.dict": lambda *pairs: dict(_pairs(pairs)),
    "builtins.set": lambda *items: list(items[0]) if items and isinstance(items[0], list) else [],
    "builtins.list": lambda *_: [],
    "torch.Size": lambda *sizes: (
        tuple(sizes[0]) if sizes and isinstance(sizes[0], tuple | list) else ()
    ),
    "torch.device": lambda *args: OpaqueObject(":".join(str(arg) for arg in args)[:80]),
}


def _pairs(args: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Return the pairs of the argument of OrderedDict, which old pickles pass as a list."""
    if not args or not isinstance(args[0], list):
        return []
    return [tuple(pair) for pair in args[0] if isinstance(pair, list | tuple) and len(pair) == 2]
