"""Ends of scripts: threads, timers, forks and descriptors that only plain Python would have."""

from __future__ import annotations

import os
import re
import time

import pytest

from tests.training.script.conftest import CLEAN, FAKE, PYTHON, run

HEAD = "import os, signal, sys, threading, time, torch\n"
# name: script. Each ends within the second for which the judge of the tests sleeps.
SCRIPTS = {
    "a thread that exits": "t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()",
    "atexit that raises": "import atexit\natexit.register(lambda: 1 / 0)\nprint('last')",
    "atexit that exits": "import atexit\natexit.register(lambda: sys.exit(4))\nprint('last')",
    "all descriptors closed": "print('last', flush=True)\nos.closerange(0, 256)",
    "closed, and not flushed": "print('last')\nos.closerange(0, 256)",
    "closed streams": "for s in (sys.stdin, sys.stdout, sys.stderr): s.close()",
    "other streams": "null = os.open(os.devnull, os.O_RDWR)\nfor i in range(3): os.dup2(null, i)",
    "an alarm": "signal.alarm(1)\nprint('last')",
    "a timer": "signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)\nprint('last')",
    "a watchdog": "import faulthandler\nfaulthandler.dump_traceback_later(0.3, exit=True)",
    "SIGCHLD ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nprint('last')",
    "a handler of SIGCHLD": (
        "signal.signal(signal.SIGCHLD, lambda *_: print('child'))\n"
        "if os.fork() == 0: os._exit(0)\ntime.sleep(0.1)\nprint('last')"
    ),
    "a handler of SIGCHLD that waits": (
        "signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))\nprint('last')"
    ),
    "SIGPIPE": "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nprint('last')",
    "a wakeup descriptor": (
        "r, w = os.pipe()\nos.set_blocking(w, False)\nsignal.set_wakeup_fd(w)\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('got'))\n"
        "signal.raise_signal(signal.SIGUSR1)\nprint(os.read(r, 9))"
    ),
    "a session": "if os.getpid() != os.getsid(0): os.setsid()\nprint('last')",
    "a subreaper": (
        "import ctypes\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
        "if os.fork() == 0:\n    if os.fork() == 0: time.sleep(0.1)\n    os._exit(0)\n"
        "os.wait()\nprint('last')"
    ),
    "a child that outlives it": (
        "if os.fork() == 0:\n    os.closerange(0, 3)\n    time.sleep(3)\n    os._exit(0)\n"
        "print('last')"
    ),
    "a hook of its own": "def hook(*a): print('hook', a[1])\nsys.excepthook = hook\n1 / 0",
    "a hook that raises": "def hook(*a): {}['x']\nsys.excepthook = hook\n1 / 0",
    "a hook that exits": "def hook(*a): sys.exit(7)\nsys.excepthook = hook\n1 / 0",
    "no hook": "del sys.excepthook\n1 / 0",
    "no functions of atexit": "import atexit\natexit._clear()\nprint('last')",
}
NO_REPORT = {"no functions of atexit"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_end_is_plain_pythons_and_has_a_report(name, observed, tmp_path):
    ran = observed(HEAD + SCRIPTS[name], slow=0.5)
    env = {**CLEAN, "PYTHONPATH": str(FAKE)}
    plain = run([PYTHON, "s.py"], tmp_path / "work", env=env)
    out = ran.out.replace("abandoned\n", "")  # of a child, which may write within a line
    lines = [line for line in out.splitlines() if not line.startswith("END ")]
    err, expected = (re.sub("0x[0-9a-f]+", "ADDRESS", text) for text in (ran.err, plain.err))
    assert (ran.status, lines, err) == (plain.status, plain.out.splitlines(), expected)
    assert (ran.report is None) == (name in NO_REPORT)


def test_a_child_that_a_thread_forks_meanwhile_does_not_hold_the_end_up(observed, tmp_path):
    # The judge ends without a verdict, and the children have the ends of all pipes for 20 s.
    ran_from = time.monotonic()
    ran = observed(
        HEAD + "def fork():\n    while True:\n        if os.fork() == 0:\n"
        "            for fd in range(3): os.close(fd)\n"
        "            time.sleep(20)\n            os._exit(0)\n        time.sleep(0.05)\n"
        "import atexit\n"
        "atexit.register(lambda: threading.Thread(target=fork, daemon=True).start())\n",
        slow=0.5, verdict=b"",
    )  # fmt: skip
    assert time.monotonic() - ran_from < 15
    assert ran.status == 0
    assert "the process that writes it has ended early" in ran.err
    os.unlink(ran.err.split("the report is in ")[1].partition(": show")[0])  # noqa: PTH108


@pytest.mark.parametrize("end", ["os._exit(5)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_script_that_is_ended_while_it_is_judged_ends_so(end, observed):
    ran = observed(
        HEAD + f"def watchdog():\n    time.sleep(0.2)\n    {end}\n"
        "threading.Thread(target=watchdog, daemon=True).start()\nprint('last')\n",
        slow=0.5,
    )
    assert ran.status == (5 if "_exit" in end else -9)
    assert (ran.out.splitlines()[0], ran.err) == ("last", "")
