"""Signals, a closed stdout and the parent's death, in each phase of a command."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.worker.running import HOOKCLI, LONG, heed_signals, model

pytestmark = pytest.mark.timeout(240)

SLEEP = "open(os.environ['REACHED'], 'w').close(); time.sleep(600)"
GRANDCHILDREN = "for _ in range(2):\n    if os.fork() == 0: time.sleep(600)\n"
PHASES = {
    "import": ({"top": SLEEP}, "in import"),
    "build": ({"build": SLEEP}, "in build"),
    "forward": ({"forward": GRANDCHILDREN + SLEEP}, "in forward, in bad"),
}
REAL = ("-i", "2x4", "--tensors", "real")


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    ("signum", "status", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "the terminal was closed"),
    ],
)
def test_a_signal_ends_all_and_says_where(lab, phase, signum, status, word):
    parts, where = PHASES[phase]
    running = lab.start(model(**parts), *REAL, real=phase == "forward")
    running.reached()
    running.process.send_signal(signum)
    result = running.result()
    assert (result.status, result.out) == (status, ""), result.err
    assert result.err.splitlines()[-1] == f"{word}, {where}"
    assert running.all_gone()


@pytest.mark.parametrize("phase", PHASES)
def test_a_closed_stdout_ends_all_silently(lab, phase):
    running = lab.start(model(**PHASES[phase][0]), *REAL, real=phase == "import")
    running.reached()
    running.process.stdout.close()
    _, err = running.process.communicate(timeout=LONG)
    assert running.process.returncode == 141
    assert err == b""
    assert running.all_gone()


HOLDS_THE_LOCK = SLEEP.replace(
    "time.sleep(600)", "__import__('re').match('(a+)+$', 'a' * 60 + 'b')"
)


@pytest.mark.parametrize(
    "parts",
    [
        {"top": SLEEP},
        {"forward": GRANDCHILDREN + SLEEP},
        {"forward": GRANDCHILDREN + HOLDS_THE_LOCK},
        {"forward": "os.closerange(3, 1000)\n" + GRANDCHILDREN + SLEEP},
    ],
    ids=["import", "forward", "in C with the lock", "all descriptors closed"],
)
def test_the_death_of_the_parent_is_the_death_of_all(lab, parts):
    running = lab.start(model(**parts), *REAL, real=HOLDS_THE_LOCK in parts.get("forward", ""))
    running.reached()
    running.process.kill()
    assert running.all_gone()


def test_a_signal_while_the_exit_handlers_hang_leaves_nothing(lab):
    top = f"""
    import atexit, signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    @atexit.register
    def hang():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        {SLEEP}
    """
    patient = "from hookcli.worker import worker; worker._GRACE = 90.0; "  # the handlers' time
    patient += "from hookcli.__main__ import main; main()"
    running = lab.start(model(top=top), *REAL, command=[sys.executable, "-c", patient])
    running.reached()
    running.process.send_signal(signal.SIGTERM)
    result = running.result()
    assert result.status == 143
    assert result.err.splitlines()[-1] == "terminated, in report"
    assert running.all_gone()


def test_a_second_signal_cuts_nothing_short(lab):
    running = lab.start(model(forward=GRANDCHILDREN + SLEEP), *REAL)
    running.reached()
    for _ in range(3):
        running.process.send_signal(signal.SIGINT)
    assert running.result().status == 130
    assert running.all_gone()


@pytest.mark.parametrize("closed", [(0,), (0, 2), (0, 1, 2)])
def test_closed_standard_streams_are_not_taken_for_ours(lab, closed):
    source = model(top="print('x' * 9999)", forward="os.write(1, b'x' * 9999)")
    report = lab.folder.parent / "report.json"
    shut = " ".join(f"{fd}>&-" for fd in closed)
    command = ["sh", "-c", f'exec "$0" "$@" {shut}', HOOKCLI]
    result = lab.run(source, *REAL, "-f", f"json={report}", command=command)
    assert (result.status, result.out) == (0, "")
    assert report.read_text().endswith("}\n")


def test_a_status_is_known_where_the_invoker_ignores_dead_children(lab):
    running = lab.start(
        model(forward="os.abort()"),
        *REAL,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    result = running.result()
    assert result.status == 3
    assert "SIGABRT" in result.last_three[0]


@pytest.mark.parametrize("module", ["signal", "hookcli.cli.main", "hookcli.worker.process"])
def test_an_interrupt_while_hookcli_is_imported_shows_no_traceback(module):
    code = f"""
import os, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), 2)

sys.modules.pop("signal", None)
sys.meta_path.insert(0, Interrupts())
from hookcli.__main__ import main
main()
"""
    command = [sys.executable, "-c", code, "list", "rules"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=heed_signals)
    assert done.returncode in {130, -signal.SIGINT}
    assert (done.stdout, done.stderr) == ("", "")
