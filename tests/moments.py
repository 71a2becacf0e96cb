"""Code of a script that sends itself a signal at one moment of hookcli's code.

Moments are where Python would handle a signal: when a function begins, after a call, and at the end
of a loop's body. The arguments of the script are the name of the signal and the number of the
moment; a line on stderr, "at FILE:LINE", tells where it was.
"""

from __future__ import annotations

_SENDER = """\
import os, sys, signal
from opcode import opname
signum, moment, count = getattr(signal, sys.argv[1]), int(sys.argv[2]), 0

def came(frame):
    global count
    count += 1
    if count == moment:
        file, line = frame.f_code.co_filename, frame.f_lineno
        os.write(2, f"at {file.rpartition('/hookcli/')[2]}:{line}\\n".encode())
        signal.raise_signal(signum)

last = {}
def trace(frame, event, arg):
    code = frame.f_code
    if code.co_name in LEFT_OUT or not any(part in code.co_filename for part in PARTS):
        return None
    frame.f_trace_opcodes = True
    if event == "call":
        came(frame)
    if event == "opcode":
        before, last[frame] = last.get(frame), opname[code.co_code[frame.f_lasti]]
        if before is not None and before.startswith(("CALL", "JUMP_BACKWARD", "JUMP_ABSOLUTE")):
            came(frame)
    return trace
"""


def sender(*folders: str, left_out: tuple[str, ...] = ()) -> str:
    """Return code that defines `trace`, for sys.settrace, and `signum`.

    Moments are those of files below these folders of hookcli, except in the functions `left_out`.
    """
    parts = tuple(f"/hookcli/{folder}/" for folder in folders)
    return f"PARTS, LEFT_OUT = {parts!r}, {left_out!r}\n{_SENDER}"
