"""The cells of one row of the report."""

from __future__ import annotations

from collections.abc import Callable

from hookcli.console import escape
from hookcli.formats.names import MEMORY_COLUMNS
from hookcli.formats.parts.text import leaf_text, number, place, size
from hookcli.report.memory import CallMemory
from hookcli.report.report import LayerRow


class Caller:
    """A calling row, whose name is omitted from the names of its callees."""

    def __init__(self, row: LayerRow) -> None:
        self._name = row.name or ""
        names = (self._name, *row.aliases)
        self._ranks = {name: i for i, name in reversed([*enumerate(names)])}
        self._lengths = sorted({len(name) for name in names})

    def below(self, name: str) -> str | None:
        """Return what follows the caller's name, or one of its aliases, in a name; else None.

        Each length is looked up once, as a module may have ten thousand names.
        """
        if not self._name:
            return None
        if name.startswith(f"{self._name}."):
            return name[len(self._name) + 1 :]
        ends = [n for n in self._lengths if name[n : n + 1] == "." and name[:n] in self._ranks]
        return name[min(ends, key=lambda n: self._ranks[name[:n]]) + 1 :] if ends else None


def short_name(row: LayerRow, caller: Caller | None) -> str:
    """Return the name relative to the caller: `attn` under `h.0` for `h.0.attn`."""
    if row.name is None:
        return "(not registered)"
    if caller is not None:
        for name in (row.name, *row.aliases):
            short = caller.below(name)
            if short is not None:
                return escape(short)
    return escape(row.name)


def label(
    row: LayerRow, caller: Caller | None, times: int, *, unicode: bool, alternating: bool = False
) -> str:
    """Return name and type: `conv1 (Conv2d) ×3`; `×3 alternating` if its neighbours repeat too."""
    kind = escape(row.original_name or row.type)
    text = kind if row.name == "" else f"{short_name(row, caller)} ({kind})"
    if times > 1:
        text += f" {'×' if unicode else 'x'}{times}{' alternating' if alternating else ''}"
    return text


def parameters(row: LayerRow, *, hidden: bool) -> str:
    """Return the module's own parameters, so that the column adds up; all if rows are hidden.

    Frozen ones are in parentheses, shared ones have a star, a repeated call is "(reused)".
    """
    count = row.parameters if hidden else row.own_parameters
    if not count:
        return "?" if count is None else "–"
    if row.call > 0:
        return "(reused)"
    text = f"({count:,})" if row.trainable_parameters == 0 else f"{count:,}"
    return text + ("*" if row.shared_with else "")


_PLAIN: dict[str, Callable[[LayerRow], str]] = {
    "name": lambda row: "–" if row.name is None else escape(row.name) or "(root)",
    "type": lambda row: escape(row.type),
    "own": lambda row: number(row.own_parameters),
    "trainable": lambda row: number(row.trainable_parameters),
    "dtype": lambda row: (
        ", ".join(dict.fromkeys(escape(leaf.dtype) for leaf in row.outputs)) or "–"
    ),
    "call": lambda row: str(row.call),
    "order": lambda row: str(row.order),
    "mode": lambda row: "train" if row.training else "eval",
    "place": lambda row: place(row.place),
    "aliases": lambda row: ", ".join(escape(a) for a in row.aliases) or "–",
    "notes": lambda row: "; ".join(escape(n) for n in row.notes) or "–",
}

RIGHT = {"params", "own", "trainable", "macs", "flops", "call", "order", *MEMORY_COLUMNS}


def cost(count: int | None) -> str:
    """Return a cost; zero is a dash, an unknown cost is a question mark."""
    return "?" if count is None else f"{count:,}" if count else "–"


def memory(call: CallMemory | None, column: str) -> str:
    """Return bytes of memory; nothing saved and no backward are a dash, unknown a question mark."""
    if call is None or call.peak_bytes is None:
        return "?"
    if column == "peak":
        return size(call.peak_bytes)
    if column == "backward_peak":
        return size(call.backward_peak_bytes)
    return "?" if call.saved_bytes is None else size(call.saved_bytes or None)


def cell(row: LayerRow, column: str, width: int, *, hidden: bool) -> str:
    """Return the text of any column except `layer`, costs and memory."""
    if column == "input":
        return leaf_text(row.inputs, width, inputs=True)
    if column == "output":
        return leaf_text(row.outputs, width) if row.outputs else no_output(row)
    if column == "params":
        return parameters(row, hidden=hidden)
    return _PLAIN[column](row)


def no_output(row: LayerRow) -> str:
    """Return the text for a call without output tensors: it raised, or returned none."""
    return "raised" if any(note.startswith("raised ") for note in row.notes) else "–"
