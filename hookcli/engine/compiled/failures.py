"""Why a model does not compile, in one sentence, with the line of the user's code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hookcli.engine.compiled.account import first_sentence
from hookcli.models import places
from hookcli.models.failures import failure_of

_LINE = re.compile(r'File "([^"]+)", line (\d+)')
_USER_CODE = "from user code:"


@dataclass(frozen=True, slots=True)
class CompileFailure:
    """What the compiler raised: its type, one line of its message, and the user's line."""

    type: str
    message: str
    place: str | None
    in_backward: bool = False

    @property
    def text(self) -> str:
        """Return the failure in words: "Unsupported: Call to `torch._dynamo.graph_break()`"."""
        return f"{self.type}: {self.message}"

    def values(self) -> dict[str, Any]:
        """Return the failure as plain values."""
        return {"type": self.type, "message": self.message, "place": self.place,
                "in_backward": self.in_backward}  # fmt: skip


def compile_failure(error: BaseException, *, in_backward: bool = False) -> CompileFailure:
    """Return why a compilation failed, or why backward of compiled code did."""
    failure = failure_of(error, "forward")
    text = str(error)
    lines = _LINE.findall(text.partition(_USER_CODE)[2])
    user = [(file, line) for file, line in lines if places.is_user(file)]
    place = f"{places.show(user[-1][0])}:{user[-1][1]}" if user else failure.place
    return CompileFailure(failure.type, first_sentence(text), place, in_backward)
