"""Models whose outputs have unusual structures."""

from __future__ import annotations

from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, fields
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ._base import Shelf, call, t

ENTRIES = Shelf()


class Pair(NamedTuple):
    left: Tensor
    right: Any = None


@dataclass
class Boxes:
    xyxy: Tensor
    labels: list[str]
    extra: Pair | None = None


@ENTRIES.add(
    "out_nested_everything",
    "dict, list, tuple, named tuple, dataclass, None, str, int and () in one output",
    lambda: call(t(2, 4)),
)
class NestedEverything(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> dict[str, Any]:
        y = self.fc(x)
        boxes = Boxes(y, ["cat", "dog"], Pair(x))
        return {"a": [y, (x, None, "text", 7)], "b": Pair(y, boxes), "c": (), "d": [[[]]], "e": {}}


@ENTRIES.add(
    "out_odd_keys",
    "dict keys that are no identifiers, no strings, or collide once made into strings",
    lambda: call(t(2, 4)),
)
class OddKeys(nn.Module):
    def forward(self, x: Tensor) -> dict[Any, Any]:
        keys: list[Any] = [0, "0", 1.5, None, "", "a.b", "a b", ("t", 2), -1, "[0]", "\x1b[31m"]
        out: dict[Any, Any] = {key: x + i for i, key in enumerate(keys)}
        out["a"] = {"b": x}
        out[b"bytes"] = out[torch.float32] = x
        return out


class ModelOutput(OrderedDict):
    """Like the class of that name elsewhere: an ordered dict, a dataclass and a tuple at once."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else tuple(self.values())[key]


@dataclass
class Scores(ModelOutput):
    loss: Tensor | None = None
    logits: Tensor | None = None
    states: tuple[Tensor, ...] | None = None


@ENTRIES.add(
    "out_ordered_dict_dataclass",
    "an OrderedDict that is a dataclass too, with unset fields",
    lambda: call(t(2, 4)),
)
class OrderedOutput(nn.Module):
    def forward(self, x: Tensor) -> Scores:
        return Scores(logits=x * 2, states=(x, x + 1))


@ENTRIES.add("out_user_dict", "a UserDict, which is no dict", lambda: call(t(2, 4)))
class UserDictOutput(nn.Module):
    def forward(self, x: Tensor) -> UserDict[str, Any]:
        return UserDict({"x": x, "inner": UserDict({"y": x + 1})})


@ENTRIES.add(
    "out_odd_containers",
    "set, frozenset, deque, defaultdict, ChainMap, mapping proxy, SimpleNamespace",
    lambda: call(t(2, 4)),
)
class OddContainers(nn.Module):
    def forward(self, x: Tensor) -> tuple[Any, ...]:
        lists = defaultdict(list, {"a": [x]})
        chain = ChainMap({"a": x}, {"a": x + 1, "b": x + 2})
        proxy = MappingProxyType({"p": x})
        return {x}, frozenset([x + 1]), deque([x], 3), lists, chain, proxy, SimpleNamespace(y=x)


class WithAttributes:
    def __init__(self, x: Tensor) -> None:
        self.logits = x
        self._hidden = [x + 1]

    @property
    def loss(self) -> Tensor:
        raise RuntimeError("no labels were given")


class WithSlots:
    __slots__ = ("a", "never_set")

    def __init__(self, a: Tensor) -> None:
        self.a = a


@ENTRIES.add(
    "out_attribute_object",
    "an object with tensors in attributes and a property that raises",
    lambda: call(t(2, 4)),
)
class AttributeObject(nn.Module):
    def forward(self, x: Tensor) -> WithAttributes:
        return WithAttributes(x * 2)


@ENTRIES.add(
    "out_slots_object",
    "an object with __slots__, one of which was never set",
    lambda: call(t(2, 4)),
)
class SlotsObject(nn.Module):
    def forward(self, x: Tensor) -> WithSlots:
        return WithSlots(x * 2)


@ENTRIES.add(
    "out_dataclass_hole",
    "a dataclass instance that lacks one of its fields",
    lambda: call(t(2, 4)),
)
class DataclassHole(nn.Module):
    def forward(self, x: Tensor) -> Boxes:
        boxes = Boxes(x, [])
        del boxes.labels
        return boxes


@ENTRIES.add("out_cyclic_object", "two objects that refer to each other", lambda: call(t(2, 4)))
class CyclicObject(nn.Module):
    def forward(self, x: Tensor) -> SimpleNamespace:
        node = SimpleNamespace(value=x, children=[])
        node.children.append(SimpleNamespace(value=x + 1, parent=node))
        return node


@ENTRIES.add("out_cyclic_list", "a list and a dict that contain themselves", lambda: call(t(2, 4)))
class CyclicList(nn.Module):
    def forward(self, x: Tensor) -> list[Any]:
        out: list[Any] = [x]
        table: dict[str, Any] = {"list": out, "x": x + 1}
        table["self"] = table
        out += [out, table]
        return out


@ENTRIES.add("out_deep_list", "a list nested 3000 deep around a tensor", lambda: call(t(2, 4)))
class DeepList(nn.Module):
    def forward(self, x: Tensor) -> Any:
        out: Any = x + 1
        for _ in range(3000):
            out = [out]
        return out


@ENTRIES.add("out_wide_dict", "2000 tensors in one output", lambda: call(t(2, 4)))
class WideDict(nn.Module):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {f"leaf{i}": x[0] for i in range(2000)}


@ENTRIES.add(
    "out_iterators",
    "iterators that are empty after one look: map, zip, iter, and dict views",
    lambda: call(t(2, 4)),
)
class Iterators(nn.Module):
    def forward(self, x: Tensor) -> tuple[Any, ...]:
        table = {"a": x, "b": x + 1}
        rows = map(torch.sum, x)
        return rows, zip(x, x, strict=True), iter([x]), table.values(), table.items(), range(3)


@ENTRIES.add(
    "out_lazy_generator",
    "a generator: its child is called once the forward has returned",
    lambda: call(t(2, 4)),
)
class LazyGenerator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Iterator[Tensor]:
        for _ in range(3):
            x = self.fc(x)
            yield x


@ENTRIES.add(
    "out_generator_consumed",
    "the parent sums its child's generator, which nobody else may consume",
    lambda: call(t(2, 4)),
)
class GeneratorConsumed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = LazyGenerator()

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack(list(self.steps(x))).sum(0)
