"""A model that does what it likes and still runs: its report, and nothing left behind."""

from __future__ import annotations

import pytest

from tests.worker.running import model

pytestmark = pytest.mark.timeout(240)

JSON = ("-i", "2x4", "--tensors", "real", "-f", "json")


def layers(report):
    return [row["name"] for row in report["layers"]]


DAEMON = """
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
"""

HARMLESS = {
    "forks, and the fork comes back into hookcli": {"forward": "os.fork()"},
    "forks, and the fork ends itself": {
        "forward": "pid = os.fork()\nif pid == 0: sys.exit(3)\nos.waitpid(pid, 0)"
    },
    "forks, and the fork sleeps": {"forward": "if os.fork() == 0: time.sleep(600)"},
    "forks without end as it is imported": {
        "top": "for _ in range(3):\n    if os.fork() == 0: time.sleep(600)"
    },
    "leaves a daemon": {"top": DAEMON, "forward": "daemon()"},
    "starts threads without end": {
        "top": "import threading",
        "forward": "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    },
    "installs signal handlers": {
        "top": "import signal\nfor n in range(1, 32):\n    if n not in (9, 19):\n"
        "        signal.signal(n, lambda *_: None)"
    },
    "closes fd 1": {"top": "os.close(1)", "forward": "os.write(2, b'x')"},
    "closes all descriptors": {
        "top": "os.closerange(3, 1000)",
        "forward": "os.closerange(3, 1000)",
    },
    "changes directory": {"build": "os.chdir('/')", "forward": "os.chdir('/tmp')"},
    "changes directory as it is imported": {"top": "os.chdir('/')"},
    "closes its streams": {"top": "sys.stdout.close()", "forward": "del sys.stderr"},
    "replaces its streams": {
        "top": "class Odd:\n    def write(self, text): raise ValueError\n"
        "    def flush(self): sys.exit(9)\nsys.stdout = sys.stderr = Odd()"
    },
    "breaks the standard library": {
        "top": "import builtins, pickle, struct, threading, traceback",
        "forward": "os.write = os.read = os._exit = os.getpid = os.fstat = None\n"
        "builtins.print = pickle.dumps = struct.pack = threading.Thread = None\n"
        "traceback.extract_tb = traceback.format_exception = None",
    },
    "breaks json": {"top": "import json", "forward": "json.dumps = json.loads = None"},
    "lowers the recursion limit": {
        "top": "sys.setrecursionlimit(len(__import__('inspect').stack()) + 12)",
        "forward": "sys.setrecursionlimit(200)",
    },
    "changes the default dtype": {"top": "torch.set_default_dtype(torch.float64)"},
    "hangs at exit": {
        "top": "import atexit\natexit.register(time.sleep, 600)\n"
        "atexit.register(lambda: os.write(1, b'said at exit\\n'))"
    },
}


# These are started as a user does; the others in a fork that has torch already.
REAL = {
    "closes all descriptors", "leaves a daemon", "hangs at exit",
    "lowers the recursion limit",  # by the depth of the stack as the model is imported
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_a_hostile_model_that_runs_is_reported(lab, name):
    result = lab.run(model(**HARMLESS[name]), *JSON, real=name in REAL)
    assert result.status == 0, result.err
    assert layers(result.report) == ["", "first", "bad"]
    assert result.report["status"] == "complete"
    assert "error: " not in result.err
    if name == "hangs at exit":
        assert "said at exit\n" in result.err


def test_all_that_a_model_prints_goes_to_stderr(lab):
    top = """
    import atexit, ctypes
    libc = ctypes.CDLL(None)
    print("one")
    atexit.register(print, "at exit")
    """
    forward = """
    libc.puts(b"two")
    os.write(1, b"three\\n")
    os.write(2, b"four\\n")
    os.system("echo five")
    sys.__stdout__.write("six\\n")
    print("read", repr(sys.stdin.read()))
    sys.stdout = open(os.devnull, "w")
    """
    result = lab.run(model(top=top, forward=forward), *JSON)
    assert result.status == 0
    assert layers(result.report) == ["", "first", "bad"]
    said = result.err.splitlines()
    for text in ("one", "two", "three", "four", "five", "six", "read ''"):
        assert said.count(text) == 1, (text, said)


def test_what_is_printed_at_exit_is_heard(lab):
    top = "import atexit\natexit.register(print, 'at exit')\natexit.register(lambda: 1 / 0)"
    result = lab.run(model(top=top), *JSON)
    assert result.status == 0
    assert "at exit" in result.err.splitlines()


def test_processes_spawned_in_forward_find_the_model_and_leave_no_cache(lab):
    source = model(
        top="import multiprocessing\ndef double(n): return 2 * n",
        forward="with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "    print('doubled', pool.map(double, [21]))",
    )
    result = lab.run(source, *JSON, real=True)
    assert result.status == 0, result.err
    assert "doubled [42]" in result.err


def test_a_report_that_cannot_come_back_is_told(lab):
    source = model(forward="f = open('/dev/null'); os.closerange(3, 5000)")
    result = lab.run(source, *JSON)
    assert result.status == 3
    assert "closed the pipe" in result.last_three[0]


def test_a_file_in_place_of_the_pipe_is_not_written_to(lab):
    forward = """
    top = max(int(fd) for fd in os.listdir("/proc/self/fd"))
    os.closerange(3, top + 1)
    file = os.open(os.environ["REACHED"], os.O_RDWR | os.O_CREAT)
    for fd in range(file + 1, top + 1):
        os.dup2(file, fd)
    """
    result = lab.run(model(forward=forward), *JSON)
    assert result.status == 3
    assert "closed the pipe" in result.last_three[0]
    assert (lab.folder.parent / "reached").read_bytes() == b""


def test_a_default_device_without_data_is_no_bug_of_hookcli(lab):
    result = lab.run(model(top="torch.set_default_device('meta')"), *JSON)
    assert result.status in {0, 3}, result.err


def test_neighbours_named_like_modules_hide_nothing(lab):
    for name in ("torch", "json", "types", "os", "atexit", "pickle", "hookcli", "ctypes"):
        lab.write(f"{name}.py", f"raise SystemExit('{name}')\n")
    extra = lab.folder.parent / "extra"
    extra.mkdir()
    (extra / "helper.py").write_text("")
    env = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(extra), "PYTHONDONTWRITEBYTECODE": "1"}
    result = lab.run(model(top="import json, helper"), *JSON, env=env)
    assert result.status == 0, result.err
    assert layers(result.report) == ["", "first", "bad"]


def test_a_model_may_be_named_like_a_module(lab):
    result = lab.run(model(), *JSON, name="torch.py", real=True)
    assert result.status == 0, result.err
    assert layers(result.report) == ["", "first", "bad"]
