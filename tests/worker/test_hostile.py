"""A model that dies, hangs or raises: status 3, three lines that name the place, nothing left."""

from __future__ import annotations

import sys

import pytest

from tests.worker.running import line_of, model

pytestmark = pytest.mark.timeout(240)

REAL = ("-i", "2x4", "--tensors", "real")
JSON = (*REAL, "-f", "json")


def layers(report):
    return [row["name"] for row in report["layers"]]


# --- ends without a word --------------------------------------------------------------------------

SUDDEN = {
    "segmentation fault": ("import ctypes", "ctypes.string_at(0)  # HERE", "SIGSEGV"),
    "abort": ("", "os.abort()  # HERE", "SIGABRT"),
    "real-time signal": ("", "os.kill(os.getpid(), 40)", "signal 40"),
    "os._exit": ("", "os._exit(7)", "exited with status 7"),
    "daemonizes itself": ("", "if os.fork(): os._exit(0)\nos.setsid()", "exited with status 0"),
    "killed": ("", "os.kill(os.getpid(), 9)", "killed, as the system does when memory runs out"),
}


@pytest.mark.parametrize("name", SUDDEN)
def test_a_sudden_end_in_forward_names_phase_layer_and_line(lab, name):
    top, forward, said = SUDDEN[name]
    source = model(top=top, forward=forward)
    result = lab.run(source, *JSON, real=name == "segmentation fault")
    # os._exit leaves no trace but the last event, whose line is that of the call
    line = line_of(source, "# HERE" if "# HERE" in source else "# CALL")
    error, place, _ = result.last_three
    assert result.status == 3
    assert said in error
    assert error.endswith("in forward, in 'bad'")
    assert place == f"model.py:{line}"
    told = result.report["error"]
    assert (told["phase"], told["layer"], told["place"]) == ("forward", "bad", place)
    assert result.report["status"] == "partial"


def test_a_sudden_end_of_a_fake_run_is_confirmed_by_a_real_one(lab):
    source = model(top="import ctypes", forward="ctypes.string_at(0)  # HERE")
    result = lab.run(source, "-i", "2x4", "-f", "json")
    assert result.status == 3
    assert result.report["run"]["tensors"] == "real"
    assert result.report["run"]["fallback"].startswith("the process was killed by SIGSEGV")
    assert result.last_three[1] == f"model.py:{line_of(source)}"


@pytest.mark.parametrize(
    ("top", "build", "phase", "said"),
    [
        ("os._exit(7)", "pass", "import", "exited with status 7"),
        ("os.abort()  # HERE", "pass", "import", "SIGABRT"),
        ("", "os.abort()  # HERE", "build", "SIGABRT"),
    ],
)
def test_a_sudden_end_before_the_forward_gives_no_report(lab, top, build, phase, said):
    source = model(top=top, build=build)
    result = lab.run(source, *JSON)
    error, place, _ = result.last_three
    assert (result.status, result.out) == (3, "")
    assert said in error
    assert error.endswith(f"in {phase}")
    assert place == (f"model.py:{line_of(source)}" if "# HERE" in source else "model.py")


def test_the_line_of_a_crash_is_found_under_a_foreign_name_and_beside_a_folder_torch(lab):
    source = model(top="import ctypes", forward="ctypes.string_at(0)  # HERE")
    lab.folder = lab.folder / "torch"
    lab.folder.mkdir()
    result = lab.run(source, *REAL, name="modèle→.py")
    assert result.status == 3
    assert result.last_three[1] == f"modèle→.py:{line_of(source)}"


# --- never ends -----------------------------------------------------------------------------------

ENDLESS = {
    "in Python": ("", "while True: pass  # HERE"),
    "in C with the lock": ("import re", "re.match(r'(a+)+$', 'a' * 60 + 'b')  # HERE"),
    # A signal ends this sleep, and the model goes on: what is told must be from before.
    "asleep in C with the lock": ("import ctypes", "ctypes.PyDLL(None).sleep(600)  # HERE"),
    "deaf": (
        "import signal",
        "for n in (1, 2, 3, 13, 14, 15, 17): signal.signal(n, signal.SIG_IGN)\n"
        "time.sleep(600)  # HERE",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_forward_without_end_is_ended_at_the_timeout(lab, name):
    top, forward = ENDLESS[name]
    source = model(top=top, forward=forward)
    for seconds in ("2", "60"):  # on a busy machine the forward may begin after two
        result = lab.run(source, *JSON, "--timeout", seconds)
        error, place, hint = result.last_three
        if "in forward" in error:
            break
    assert result.status == 3
    assert error == f"the run took longer than {seconds} s (--timeout), in forward, in 'bad'"
    assert place == f"model.py:{line_of(source)}"
    assert "--timeout" in hint
    assert result.report["error"]["type"] == "timeout"


def test_memory_is_taken_away_at_the_limit(lab):
    source = model(
        forward="""
        hoard = []
        for _ in range(64):  # 4 GB at most
            hoard.append(torch.ones(1 << 24))
            time.sleep(0.03)  # HERE
        time.sleep(600)
        """
    )
    result = lab.run(source, *JSON, "--max-memory", "1")
    error, place, _ = result.last_three
    assert result.status == 3
    assert "over --max-memory 1 GB, in forward, in 'bad'" in error
    assert place in {f"model.py:{line_of(source) - back}" for back in range(3)}  # of the loop
    assert result.report["error"]["type"] == "memory"


def test_the_worker_gives_way_where_the_machine_has_no_memory_left(lab):
    patched = (
        "from hookcli.worker import worker as launch; from hookcli.__main__ import main; import os;"
        "launch.available = lambda: 0 if os.path.exists(os.environ['REACHED']) else None; main()"
    )
    source = model(forward="open(os.environ['REACHED'], 'w'); time.sleep(600)  # HERE")
    result = lab.run(source, *JSON, command=[sys.executable, "-c", patched])
    error, place, _ = result.last_three
    assert result.status == 3
    assert error == "the machine ran out of memory, in forward, in 'bad'"
    assert place == f"model.py:{line_of(source)}"


# --- raises what nobody expects -------------------------------------------------------------------

RAISED = {
    "sys.exit": "sys.exit(5)  # HERE",
    "KeyboardInterrupt": "raise KeyboardInterrupt  # HERE",
    "its own": "raise type('Mine', (BaseException,), {})('oh')  # HERE",
}


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("top", "sys.exit"),
        ("top", "KeyboardInterrupt"),
        ("build", "sys.exit"),
        ("build", "its own"),
        ("forward", "sys.exit"),
        ("forward", "KeyboardInterrupt"),
        ("forward", "its own"),
    ],
)
def test_what_is_no_exception_is_still_the_models_failure(lab, part, name):
    source = model(**{part: RAISED[name]})
    result = lab.run(source, *JSON)
    assert result.status == 3
    assert result.last_three[1] == f"model.py:{line_of(source)}"
    if part == "forward" and name != "KeyboardInterrupt":
        told = result.report["error"]
        assert (told["phase"], told["layer"]) == ("forward", "bad")
        assert layers(result.report) == ["", "first", "bad"]
    else:
        assert result.out == ""
    if name == "KeyboardInterrupt" and part == "forward":
        assert "KeyboardInterrupt in forward, in bad" in result.last_three[0]


def test_a_train_method_that_raises_is_no_bug_of_hookcli(lab):
    source = model() + "    def train(self, mode=True):\n        raise OSError('no')  # HERE\n"
    result = lab.run(source, *REAL)
    assert result.status == 3
    assert "OSError" in result.last_three[0]
    assert result.last_three[1] == f"model.py:{line_of(source)}"


def test_an_input_function_that_exits_is_no_bug_of_hookcli(lab):
    lab.write("batch.py", "import sys\ndef make():\n    sys.exit(3)\n")
    result = lab.run(model(), "-i", "batch.py:make", "--tensors", "real")
    assert result.status == 3
    assert result.last_three[1] == "batch.py:3"
    assert "while the batch was made" in result.last_three[0]
