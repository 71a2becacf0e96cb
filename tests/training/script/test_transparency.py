"""A script does what it does without hookcli: each case runs with and without, and is compared."""

from __future__ import annotations

import io
import os
import py_compile
import re
import signal
import zipfile

import pytest

from tests.conftest import TRACED
from tests.training.script.cases import CASES, STATE


def _normal(text):
    return re.sub(r"0x[0-9a-f]{6,}|Thread-\d+|object at \S+", "ADDRESS", text)


@pytest.mark.parametrize("name", CASES)
def test_the_script_does_what_it_does_without_hookcli(name, both, tmp_path):
    files, args, *more = CASES[name]
    made = {
        file: tmp_path / "work" / text[5:] if text[:5] == "LINK " else text
        for file, text in files.items()
    }
    plain, hooked = both(made, *args, **(more[0] if more else {}))
    assert _normal(hooked.err) == _normal(plain.err)
    assert _normal(hooked.out) == _normal(plain.out)
    assert hooked.status == plain.status
    assert hooked.files == plain.files


def test_a_zip_file(both):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("__main__.py", f"import sub\n{STATE}\n1 / 0\n")
        archive.writestr("sub.py", "print(__file__)")
    plain, hooked = both({"app.pyz": buffer.getvalue()}, "app.pyz", "-m", "x")
    assert (_normal(hooked.out), hooked.err) == (_normal(plain.out), plain.err)
    assert "in <module>" in plain.err and hooked.status == plain.status == 1


def test_a_compiled_script(both, tmp_path):
    (tmp_path / "s.py").write_text(STATE)
    compiled = py_compile.compile(str(tmp_path / "s.py"), str(tmp_path / "s.pyc"))
    files = {
        "s.pyc": (tmp_path / compiled).read_bytes(),
        "other": (tmp_path / compiled).read_bytes(),
    }
    plain, hooked = both(files, "s.pyc")
    assert _normal(hooked.out) == _normal(plain.out)
    assert "SourcelessFileLoader" in plain.out
    plain, hooked = both(files, "other")
    assert _normal(hooked.out) == _normal(plain.out) != ""


SIGNALS = {
    "SIGTERM": ("", [signal.SIGTERM], -15),
    "SIGTERM with a handler": (
        "signal.signal(15, lambda *_: (print('caught'), sys.exit(9)))", [signal.SIGTERM], 9,
    ),
    "SIGINT": ("", [signal.SIGINT], -2),
    "SIGINT with a handler": ("signal.signal(2, lambda *_: sys.exit(8))", [signal.SIGINT], 8),
    "SIGINT that is ignored": (
        "signal.signal(2, signal.SIG_IGN)", [signal.SIGINT, signal.SIGALRM], -14,
    ),
    "SIGUSR1": ("", [signal.SIGUSR1], -10),
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNALS)
def test_signals_reach_the_script(name, both):
    before, numbers, status = SIGNALS[name]
    # One long sleep could miss a signal: Python looks for signals before the sleep begins.
    script = (
        f"import atexit, signal, sys, time\natexit.register(print, 'atexit')\n{before}\n"
        "try:\n    print('ready', flush=True)\n    while True: time.sleep(0.01)\n"
        "finally:\n    print('finally')\n"
    )

    def act(process):
        assert process.stdout.readline() == "ready\n"
        for number in numbers:
            os.kill(process.pid, number)

    plain, hooked = both({"s.py": script}, "s.py", act=act)
    assert (plain.status, plain.out) == (hooked.status, hooked.out)
    assert _without_lines(plain.err) == _without_lines(hooked.err)
    assert plain.status == status


def _without_lines(err):
    """Return a traceback without the line that a signal interrupted, which varies."""
    return re.sub(r", line \d+, in <module>\n(?:    .*\n)+", ", in <module>\n", err)


@pytest.mark.skipif(TRACED, reason="what coverage.py opens gets the numbers of closed streams")
def test_closed_standard_streams(both):
    script = (
        "import os, sys\n"
        "open('seen', 'w').write(str([sys.stdin, sys.stderr, os.listdir('/dev/fd')]))\n"
    )
    closed = "import os, sys; os.close(0); os.close(2); os.execv(sys.argv[1], sys.argv[1:])"
    plain, hooked = both({"s.py": script}, "s.py", before=[closed])
    assert hooked.files == plain.files
    assert b"None, None" in plain.files["seen"]
