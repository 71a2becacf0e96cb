"""Models whose children, classes and trees have unusual names and sizes."""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

from ._base import Shelf, call, t

ENTRIES = Shelf()


class Chain(nn.Module):
    """Calls its children in turn."""

    def forward(self, x: Tensor) -> Tensor:
        for child in self.children():
            x = child(x)
        return x


def chain(*names: str) -> nn.Module:
    model = Chain()
    for name in names:
        model.add_module(name, nn.Linear(4, 4))
    return model


@ENTRIES.add(
    "name_not_identifiers",
    "names with spaces, dashes, slashes, brackets, quotes, keywords, numbers",
    lambda: call(t(2, 4)),
)
def not_identifiers() -> nn.Module:
    return chain(
        "a-b", "a b", " ", "a/b", "\u00b7\\b", "[0]", "'\"`", "class", "None", "-1",
        "01", "1e5", "true", "null", "~", "$HOME", "%s%d%n", "{x!r}", "{{", "#", "*", "a=b", "=1+1",
        "--help", "@file", "&amp;", "x" * 5000,
    )  # fmt: skip


@ENTRIES.add(
    "name_unicode",
    "emoji with joiners, combining marks, composed and decomposed twins, wide letters, RTL",
    lambda: call(t(2, 4)),
)
def unicode_names() -> nn.Module:
    return chain(
        "\U0001f469\u200d\U0001f4bb", "\u00e9", "e\u0301", "\u5c42", "\uff41", "\u0627\u0644",
        "z\u0351\u0352\u0353\u0354", "\u200b", "\ufeff", "\u00a0", "\u0130", "i\u0307", "\u00df",
        "SS", "\U0010ffff", "\ufffd", "\uff21", "A", "a", "\u2028",
    )  # fmt: skip


@ENTRIES.add(
    "name_control_characters",
    "terminal escapes, bidi overrides, newlines, tabs, NUL, workflow commands, markup",
    lambda: call(t(2, 4)),
)
def control_characters() -> nn.Module:
    return chain(
        "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\u202eevil\u202c", "\u2066x", "\n", "a\r", "\t",
        "\x00", "\x7f", "\x9b31m", "::error::x", "::error file=a::x\n::warning::y", "##[error]x",
        "<script>alert(1)</script>", "<!--", "|", "| a | b |", "```", "[x](http://x)", "<b>&</b>",
        "${{ x }}", "]]>", "\\", "\\n", ",", ";", '","',
    )  # fmt: skip


@ENTRIES.add(
    "name_lone_surrogate",
    "a name that cannot be encoded as UTF-8",
    lambda: call(t(2, 4)),
)
def lone_surrogate() -> nn.Module:
    return chain("\ud800", "ok\udcff")


@ENTRIES.add(
    "name_ambiguous_paths",
    "children put in _modules with dots and without a name: two modules share one path",
    lambda: call(t(2, 4)),
)
def ambiguous_paths() -> nn.Module:
    model = Chain()
    model.add_module("a", chain("b"))
    model._modules["a.b"] = nn.Linear(4, 4)
    model._modules[""] = nn.Tanh()
    model._modules["a."] = nn.ReLU()
    return model


@ENTRIES.add(
    "name_module_dict",
    "a ModuleDict with odd keys, one in another, called in another order than kept",
    lambda: call(t(2, 4)),
)
class DictNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        inner = nn.ModuleDict({"10": nn.Linear(4, 4), "9": nn.Linear(4, 4), "weight": nn.Tanh()})
        self.heads = nn.ModuleDict({"user/click": nn.Linear(4, 1), "in": inner, "0": nn.Identity()})

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        inner = self.heads["in"]
        for key in reversed(list(inner)):
            x = inner[key](x)
        return {key: head(x) for key, head in self.heads.items() if key != "in"}


@ENTRIES.add(
    "name_nested_sequential",
    "Sequentials in Sequentials, empty ones among them, and ModuleLists in ModuleLists",
    lambda: call(t(2, 4)),
)
class NestedSequential(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.empty = nn.Sequential()
        body = nn.Sequential(nn.Sequential(nn.Sequential(nn.Linear(4, 4)), nn.Sequential()))
        self.grid = nn.ModuleList([nn.ModuleList([body, nn.ReLU()]), nn.ModuleList()])

    def forward(self, x: Tensor) -> Tensor:
        for row in self.grid:
            for module in row:
                x = self.empty(module(x))
        return x


@ENTRIES.add(
    "name_none_children",
    "children that are None, set and unset",
    lambda: call(t(2, 4)),
)
class NoneChildren(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_module("norm", None)
        self.down: nn.Module | None = nn.Linear(4, 4)
        self.down = None
        self.fc = nn.Linear(4, 2)
        self.register_parameter("gain", None)
        self.register_buffer("mask", None)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x if self.norm is None else self.norm(x))


def _type(name: str, module: str) -> type[nn.Module]:
    def forward(self: nn.Module, x: Tensor) -> Tensor:
        return torch.sin(x)

    return type(name, (nn.Module,), {"forward": forward, "__module__": module})


@ENTRIES.add(
    "name_dynamic_classes",
    "classes made by type(): one name for several, empty, with escapes, in no module",
    lambda: call(t(2, 4)),
)
def dynamic_classes() -> nn.Module:
    names = [
        "Same",
        "Same",
        "Linear",
        "",
        "\x1b[31mRed",
        "a.b",
        "<lambda>",
        "list",
        "X\nY",
        "\u00dc|",
    ]
    classes = [_type(name, "nowhere" if i % 2 else "") for i, name in enumerate(names)]
    return nn.Sequential(*(cls() for cls in classes), *(cls() for cls in classes[:2]))


@ENTRIES.add(
    "name_deep_registered",
    "a tree 300 deep of which only the innermost module is called",
    lambda: call(t(2, 4)),
)
class DeepRegistered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        inner: nn.Module = nn.Linear(4, 4)
        self.innermost = [inner]
        for _ in range(300):
            inner = nn.Sequential(inner)
        self.outer = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.innermost[0](x)


@ENTRIES.add(
    "name_deep_calls",
    "calls nested 150 deep within Python's usual recursion limit",
    lambda: call(t(2, 4)),
)
def deep_calls(depth: int = 150) -> nn.Module:
    model: nn.Module = nn.Linear(4, 4)
    for _ in range(depth):
        model = nn.Sequential(model)
    return model


@ENTRIES.add(
    "name_deep_calls_tight",
    "205 calls deep: with one more Python frame per call, as hooks cost, the stack overflows",
    lambda: call(t(2, 4)),
)
def deep_calls_tight() -> nn.Module:
    return deep_calls(205)


@ENTRIES.add(
    "name_deeper_calls",
    "calls nested 300 deep, for which forward raises the recursion limit",
    lambda: call(t(2, 4)),
)
class DeeperCalls(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.outer = deep_calls(300)

    def forward(self, x: Tensor) -> Tensor:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 10_000))
        try:
            return self.outer(x)
        finally:
            sys.setrecursionlimit(limit)


@ENTRIES.add("name_500_siblings", "500 children of one parent", lambda: call(t(1, 2)))
def siblings() -> nn.Module:
    return nn.Sequential(*(nn.Linear(2, 2) if i % 10 == 0 else nn.ReLU() for i in range(500)))
