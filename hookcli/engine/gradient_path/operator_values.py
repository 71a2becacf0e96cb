"""What operators do with the values of their arguments, as far as gradients are concerned."""

from __future__ import annotations

from typing import Any

from hookcli.torch_private import OpOverload

# They return a Python value that was computed from the elements of a tensor.
LEAVING = frozenset({
    "item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__", "__complex__",
    "__array__", "__contains__", "equal", "allclose", "is_nonzero", "__dlpack__",
})  # fmt: skip
ARRAYS = frozenset({"numpy", "__array__", "__dlpack__"})

# They make a tensor of Python values.
MAKING = frozenset({
    "tensor", "as_tensor", "asarray", "scalar_tensor", "full", "new_tensor", "new_full",
    "full_like", "from_numpy", "from_dlpack", "frombuffer", "fill_", "__array_wrap__",
})  # fmt: skip

# Only the first argument has values in the result; of the others, the shape or dtype counts.
FIRST_ONLY = frozenset({
    "expand_as", "view_as", "reshape_as", "type_as", "to", "sum_to_size", "broadcast_to",
})  # fmt: skip

# The result has the values of no argument.
SHAPE_ONLY = frozenset({
    "new_zeros", "new_ones", "new_empty", "new_empty_strided", "zero_", "normal_", "uniform_",
    "random_", "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "randint_like",
    "exponential_", "bernoulli_", "full_like", "new_full", "retain_grad", "register_hook",
})  # fmt: skip

# Each result belongs to the argument at the same position.
BY_POSITION = frozenset({"broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "meshgrid"})

SUMS = frozenset({"add", "__add__", "__radd__", "__iadd__", "add_", "sub", "__sub__", "__isub__"})

# Their derivative is zero everywhere; so is that of a division that rounds.
ROUNDING = frozenset({"round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "floor_divide"})

IN_PLACE = frozenset({
    "__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__ipow__",
    "__iand__", "__ior__", "__ixor__", "__imod__", "__imatmul__",
})  # fmt: skip


def name_of(func: Any) -> str:
    """Return the name of an operator as users write it: "detach", "data", "argmax"."""
    name = str(getattr(func, "__name__", func))
    if name in {"__get__", "__set__"}:
        return str(getattr(getattr(func, "__self__", None), "__name__", name))
    if isinstance(func, OpOverload):
        return name.partition(".")[0]
    return name


def writes(func: Any, name: str) -> bool:
    """Whether an operator writes to its first argument."""
    if getattr(func, "__name__", "") == "__set__":
        return True
    return name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))


def rounds(name: str, kwargs: dict[str, Any]) -> bool:
    """Whether the gradient of an operator is zero, since its result moves in steps."""
    return name.rstrip("_") in ROUNDING or (
        name.rstrip("_") in {"div", "divide"} and kwargs.get("rounding_mode") is not None
    )
