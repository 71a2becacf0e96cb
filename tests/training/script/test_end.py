"""The end of a script: how it ended, the report, and the exit status for --fail-on."""

from __future__ import annotations

import pytest

ENDINGS = {
    "print(1)": ("completed", 0, None, None),
    "import sys; sys.exit()": ("exit", 0, None, None),
    "raise SystemExit(False)": ("exit", 0, None, None),
    "import sys; sys.exit(259)": ("exit", 3, None, None),
    "import sys; sys.exit(-1)": ("exit", 255, None, None),
    "import sys; sys.exit('no')": ("exit", 1, None, None),
    "1 / 0": ("exception", 1, "ZeroDivisionError: division by zero", "s.py:2"),
    "import json\njson.loads('{')": (
        "exception",
        1,
        "JSONDecodeError: Expecting property",
        "s.py:3",
    ),
    "raise KeyboardInterrupt": ("interrupted", 130, "KeyboardInterrupt", "s.py:2"),
    "from hookcli.training.script.ending import EndOfRun\nraise EndOfRun('max_steps')": (
        "max_steps",
        0,
        None,
        None,
    ),
    "from hookcli.training.script.ending import EndOfRun\n"
    "try:\n    raise EndOfRun('stopped')\nfinally:\n    print('finally')": (
        "stopped",
        0,
        None,
        None,
    ),
}


@pytest.mark.parametrize("text", ENDINGS)
def test_the_report_tells_how_the_script_ended(text, observed, tmp_path):
    ran = observed(f"import torch\n{text}\n", "a", "-q")
    ended, status, error, place = ENDINGS[text]
    script = ran.report["script"]
    assert (script["ended"], script["status"]) == (ended, status)
    assert (script["name"], script["arguments"], script["is_module"]) == (
        "s.py",
        ["a", "-q"],
        False,
    )
    assert (script.get("error") or "").startswith(error or "")
    assert script.get("place") == (None if place is None else str(tmp_path / "work" / place))
    assert ran.status % 256 == (254 if ended == "interrupted" else status)
    assert "Traceback" not in ran.err or error is not None


@pytest.mark.parametrize(
    ("last", "status"),
    [("", 1), ("raise SystemExit(3)", 3), ("raise SystemExit", 1), ("1 / 0", 1)],
)
def test_a_finding_changes_only_a_status_of_0(last, status, observed):
    ran = observed(
        "import torch, atexit, sys\n"
        "atexit.register(print, 'atexit')\n"
        "print('not flushed')\n"
        f"{last}\n",
        status=17,
    )
    assert ran.status == status
    lines = ran.out.splitlines()
    assert lines[:2] == ["not flushed", "atexit"]
    assert lines[2].startswith("END ")


@pytest.mark.parametrize("status", [1, 2, 4])
def test_a_failure_of_the_end_does_not_change_the_status(status, observed):
    assert observed("import torch", status=status).status == 0


def test_the_end_runs_where_and_as_the_command_was_typed(observed, tmp_path):
    ran = observed(
        "import torch, os\nos.chdir('/')\nos.environ['CHANGED'] = '1'\n"
        "os.environ['PYTHONPATH'] = '/none'\n"
    )
    assert ran.out == f"END {tmp_path / 'work'} None\n"
    assert ran.report["warnings"] != []


def test_a_forked_child_is_abandoned_and_has_no_end(observed):
    ran = observed(
        "import os, sys, torch\n"
        "pid = os.fork()\n"
        "if not pid: sys.exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "print('parent')\n"
    )
    assert ran.out.splitlines()[:2] == ["abandoned", "parent"]
    assert ran.out.count("END") == 1
    assert len(ran.report["warnings"]) == 1


def test_a_forked_child_that_imports_torch_is_not_observed(observed):
    ran = observed(
        "import os, sys\n"
        "pid = os.fork()\n"
        "if not pid:\n    import torch\n    sys.exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    assert (ran.out, ran.report) == ("", None)


@pytest.mark.parametrize("last", ["os._exit(0)", "os.execv('/bin/true', ['true'])"])
def test_a_process_that_ends_without_python_has_no_end(last, observed):
    ran = observed(f"import os, torch\n{last}")
    assert (ran.status, ran.out, ran.err, ran.report) == (0, "", "", None)


@pytest.mark.parametrize(
    ("watch", "told"),
    [
        ("fake_watch:start_fails", "hookcli: cannot observe the training: ValueError: no watch\n"),
        ("fake_watch:finish_fails", "hookcli: the report is not written: ValueError: no report\n"),
        ("none_such:start", "hookcli: cannot observe the training: ModuleNotFoundError: "
         "No module named 'none_such'\n"),
    ],
)  # fmt: skip
def test_an_error_of_hookcli_is_a_line_and_the_script_goes_on(watch, told, observed):
    ran = observed("import torch\nprint('on')\nraise SystemExit(6)", watch=watch)
    assert (ran.status, ran.out, ran.err, ran.report) == (6, "on\n", told, None)


def test_a_script_without_torch_has_a_note_and_its_own_status(observed):
    ran = observed("print(1)\nraise SystemExit(2)")
    assert (ran.status, ran.out, ran.report) == (2, "1\n", None)
    assert ran.err == "note: the script did not import torch: there is nothing to report\n"


def test_quiet_means_no_note(observed):
    assert observed("print(1)", ours=["-q"]).err == ""


TRACE = """
import sys, importlib.util
spec = importlib.util.find_spec("torch")
print(type(spec).__name__, isinstance(spec, type(sys.__spec__)), type(spec.loader).__name__)
assert "torch" not in sys.modules and spec.origin.endswith("__init__.py")
import torch.nn
print(torch.SEEN, "fake_watch" in sys.modules)
print(type(torch.__spec__) is type(sys.__spec__), torch.__spec__.loader is torch.__loader__)
spec, other = vars(torch.__spec__), vars(torch.nn.__spec__)
print(vars(torch.__loader__).keys(), sorted(spec) == sorted(other))
print([f for f in sys.meta_path if "hookcli" in str(f)], torch.__spec__._initializing)
import importlib
importlib.reload(torch)
del sys.modules["torch"]
import torch
"""


def test_the_import_of_torch_is_noticed_and_leaves_no_trace(observed):
    ran = observed(TRACE)
    assert ran.out.splitlines()[:-1] == [
        "ModuleSpec True SourceFileLoader",
        "(True, 'SourceFileLoader', 'fractions') True",
        "True True",
        "dict_keys(['name', 'path']) True",
        "[] False",
    ]
    assert len(ran.report["warnings"]) == 1


def test_an_import_in_a_thread_and_after_a_failure_is_noticed(observed):
    ran = observed(
        "import sys, threading\n"
        "sys.modules['fractions'] = None\n"
        "try:\n    import torch\nexcept ImportError: pass\n"
        "del sys.modules['fractions']\n"
        "t = threading.Thread(target=__import__, args=('torch',)); t.start(); t.join()\n"
    )
    assert len(ran.report["warnings"]) == 1
