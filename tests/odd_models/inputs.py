"""Models with unusual signatures and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


class Append(nn.Module):
    def forward(self, xs: list[Tensor], table: dict[str, Any]) -> None:
        xs.append(xs[-1] * 2)
        table["n"] = table.pop("start") + len(xs)
        table["last"] = xs[-1][:1]


@ENTRIES.add(
    "in_mutated_containers",
    "a child appends to the list and changes the dict that it is given",
    lambda: call([t(2, 4)], {"start": 1}),
)
class MutatedContainers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.append = Append()

    def forward(self, xs: list[Tensor], table: dict[str, Any]) -> Tensor:
        for _ in range(3):
            self.append(xs, table)
            table["start"] = 0
        return torch.cat(xs)


class Grow(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x.resize_(6, 4).fill_(1.0)
        return x


@ENTRIES.add(
    "in_resized_inplace",
    "a child resizes its input in place: it has another shape afterwards",
    lambda: call(t(2, 4)),
)
class ResizedInplace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.grow = Grow()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.grow(x.clone()))


@ENTRIES.add(
    "in_kwargs_only",
    "keyword-only arguments, and children called by keyword alone",
    lambda: call(x=t(2, 4), scale=t()),
)
class KwargsOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, *, x: Tensor, scale: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.fc(input=x) * scale


@ENTRIES.add(
    "in_star_args",
    "*args and **kwargs passed on to a child that takes *args and **kwargs",
    lambda: call(t(2, 4), t(3, 4), None, first=t(1, 4), other=2),
)
class StarArgs(nn.Module):
    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.inner = StarArgs(depth - 1) if depth else nn.Linear(4, 2)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.inner, nn.Linear):
            return [self.inner(x) for x in (*args, *kwargs.values()) if torch.is_tensor(x)]
        return self.inner(*args, **kwargs)


@ENTRIES.add(
    "in_awkward_keywords",
    "keywords called args, kwargs, module, hook, '', 'a b' and '\\n'; a positional-only x",
    lambda: call(
        t(2, 4),
        **{k: t(1) for k in ("args", "kwargs", "module", "hook", "input", "", "a b", "\n", "x")},
    ),
)
class AwkwardKeywords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.again = AwkwardLeaf()

    def forward(self, x: Tensor, /, args: Tensor, **kwargs: Tensor) -> Tensor:
        return self.again(x, args=args, **kwargs)


class AwkwardLeaf(nn.Module):
    def forward(self, x: Tensor, /, args: Tensor, kwargs: Tensor, **rest: Tensor) -> Tensor:
        return x + args + kwargs + len(rest)


@ENTRIES.add("in_none_at_all", "takes no arguments", lambda: call())
class NoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.code = nn.Parameter(torch.zeros(1, 4))
        self.fc = nn.Linear(4, 2)

    def forward(self) -> Tensor:
        return self.fc(self.code)


@ENTRIES.add(
    "in_no_tensors",
    "strings, bytes, numbers, a range and a slice, but no tensor",
    lambda: call("prompt \x1b[31m\ud800", b"\x00", 10**400, range(5), text={"a": slice(None)}),
)
class NoTensorInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(8, 4)

    def forward(self, prompt: str, raw: bytes, n: int, r: range, text: Any) -> Tensor:
        return self.emb(torch.tensor([ord(c) % 8 for c in prompt[:6]]))


@ENTRIES.add(
    "in_optional_list",
    "a list of optional tensors, None by default",
    lambda: call(t(2, 4), [None, t(1, 4), None]),
)
class OptionalList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(
        self, x: Tensor, extra: list[Tensor | None] | None = None, mask: Tensor | None = None
    ) -> list[Tensor | None]:
        return [None if e is None else self.fc(x + e) for e in extra or []]


@ENTRIES.add(
    "in_iterator",
    "an iterator of tensors that only the model may consume",
    lambda: call(iter([t(2, 4), t(3, 4)])),
)
class IteratorInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.join = Join()

    def forward(self, xs: Iterator[Tensor]) -> Tensor:
        return self.join(self.fc(x) for x in xs)


class Join(nn.Module):
    def forward(self, parts: Iterator[Tensor]) -> Tensor:
        return torch.cat(list(parts))


@ENTRIES.add(
    "in_callable",
    "a function among the arguments, which calls a child of the model",
    lambda: call(t(2, 4), torch.tanh),
)
class CallableInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.apply_twice = ApplyTwice()

    def forward(self, x: Tensor, act: Callable[[Tensor], Tensor]) -> Tensor:
        return self.apply_twice(lambda y: act(self.fc(y)), x)


class ApplyTwice(nn.Module):
    def forward(self, f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return f(f(x))


class Graph:
    """A batch object as graph libraries have them."""

    def __init__(self, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def to(self, device: Any) -> Graph:
        return Graph(**{k: v.to(device) for k, v in self.__dict__.items()})


@ENTRIES.add(
    "in_batch_object",
    "one custom object holding all input tensors",
    lambda: call(Graph(x=t(5, 4), y=ids(5))),
)
class BatchObject(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, data: Graph) -> Graph:
        data.out = self.fc(data["x"]) + data.y[:, None]
        return data


def _packed() -> PackedSequence:
    return pack_padded_sequence(t(3, 5, 4), torch.tensor([5, 2, 3]), True, False)


@ENTRIES.add("in_packed_sequence", "PackedSequence in and out", lambda: call(_packed()), fake=False)
class PackedIn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 3, bidirectional=True)
        self.same = nn.Identity()

    def forward(self, seq: PackedSequence) -> tuple[Any, ...]:
        out, h = self.rnn(self.same(seq))
        return out, h, pad_packed_sequence(out, batch_first=True)


@ENTRIES.add(
    "in_aliases",
    "the same tensor three times, its view, and a leaf that requires grad",
    lambda: (lambda x, y: call(x, x, [x, x[0]], y=y))(t(2, 4), t(4).requires_grad_()),
)
class Aliases(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bilinear = nn.Bilinear(4, 4, 2)

    def forward(self, a: Tensor, b: Tensor, rest: list[Tensor], y: Tensor) -> Tensor:
        return self.bilinear(a, b) + self.bilinear(rest[0], y.expand_as(a))
