"""A second Ctrl-C between any two instructions of hookcli, after the first has ended the script.

HOOKCLI_TEST_MOMENTS=1 is each moment of tests/moments.py; the default is one in 250.
"""

from __future__ import annotations

import os
import signal
import sys

import pytest

from tests.conftest import TRACED
from tests.moments import sender

EVERY = int(os.environ.get("HOOKCLI_TEST_MOMENTS", "250"))
TRACE = (
    sender("training/script", left_out=("_note",))
    + """\
import torch
frame = sys._getframe()
while frame is not None:
    frame.f_trace, frame.f_trace_opcodes = trace, True
    frame = frame.f_back
def handle(*_):
    raise TimeoutError("of the script")
if signum != signal.SIGINT:
    signal.signal(signum, handle)
import atexit
atexit.register(print, "atexit")
sys.settrace(trace)
"""
)
LAST = {
    "interrupted": ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt"),
    "failed": ("1 / 0", 1, "ZeroDivisionError: division by zero"),
    "exit": ("sys.exit(3)", 3, None),
    "completed": ("", 0, None),
}


@pytest.mark.skipif(TRACED, reason="coverage.py traces too")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="calls of older Pythons have other names")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("how", LAST)
def test_a_signal_at_any_moment_of_the_end_changes_nothing(how, signum, observed):
    last, status, error = LAST[how]
    moment = 1 + [*LAST].index(how) * EVERY // len(LAST)
    wrong = []
    while True:
        ran = observed(TRACE + last, signum.name, str(moment))
        where = next((ln for ln in ran.err.splitlines() if ln.startswith("at ")), None)
        lines = [line for line in ran.err.splitlines() if line != where]
        lines = [line for line in lines if "the report is being written" not in line]
        found = [
            ("status", ran.status, status),
            ("an error", lines[-1] if lines else None, error),
            ("hookcli", "/hookcli/" in ran.err, False),
            ("report", ran.report is not None, True),
            ("stdout", ran.out.splitlines()[:1], ["atexit"]),
        ]
        wrong += [(where, *one, ran.err) for one in found if one[1] != one[2]]
        if where is None:
            break
        moment += EVERY
    assert not wrong, wrong[:3]
    assert moment > EVERY
