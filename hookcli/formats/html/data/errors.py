"""Why a report is partial: the error that ended the run."""

from __future__ import annotations

from typing import Any

from hookcli.console import escape
from hookcli.formats.html.data.references import References
from hookcli.formats.parts.text import leaves_full, place
from hookcli.report.report import ErrorInfo


def error(info: ErrorInfo | None, references: References) -> dict[str, Any] | None:
    """Return the error of a report, None if it is complete; keys without a value are omitted.

    `layer` is the row of the call in which the error was raised, and `target` its name.
    """
    if info is None:
        return None
    fields = {
        "phase": escape(info.phase),
        "target": None if info.layer is None else escape(info.layer) or "the model",
        "inputs": leaves_full(info.inputs, inputs=True) if info.inputs else None,
        "type": escape(info.type),
        "message": "\n".join(escape(line) for line in info.message.split("\n")),
        "place": None if info.place is None else place(info.place),
        "hint": None if info.hint is None else escape(info.hint),
        "hook": None if info.hook is None else escape(f"the hook {info.hook.problem}"),
        "hook_place": None if info.hook is None else place(info.hook.place),
        "hook_advice": None if info.hook is None else escape(info.hook.advice),
        "layer": references.layer(info.layer, info.call),
    }
    return {key: value for key, value in fields.items() if value not in (None, "", -1)}
