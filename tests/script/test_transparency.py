"""A script does what it does without hookcli: each case runs with and without, and is compared."""

from __future__ import annotations

import os
import signal
import sys
import zipfile

import pytest

STATE = """
import sys
def show(value):
    return sorted(map(str, value)) if isinstance(value, (set, frozenset)) else value
main = sys.modules["__main__"]
print(main.__dict__ is globals(), type(main))
print({k: type(v) if k in {"__loader__", "__builtins__"} else v for k, v in globals().items()})
print(vars(__loader__) if hasattr(__loader__, "path") else __loader__)
print(sys.argv, sys.orig_argv, sys.path, sys.flags, sys.warnoptions, sys._xoptions)
print(sys.executable, sys.prefix, sys.getrecursionlimit(), sys.getswitchinterval())
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)
print(sys.stdin.name, sys.stdout.name, sys.stdout.line_buffering, sys.dont_write_bytecode)
print(sorted(sys.path_importer_cache), sys.path_hooks, sys.gettrace(), sys.getprofile())
print([name for name in sys.modules if name.partition(".")[0] != "hookcli"])
print([f for f in sys.meta_path if type(f).__module__.partition(".")[0] != "hookcli"])
import os, signal, threading, gc, atexit
print(sorted(os.environ.items()), os.getcwd(), os.umask(0o22), gc.get_threshold(), gc.isenabled())
print([(s, signal.getsignal(s)) for s in sorted(signal.valid_signals())])
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), threading.active_count(), sorted(os.listdir("/proc/self/fd")))
print(atexit.__name__, atexit.unregister(print))
"""

CASES = {
    # what the script sees
    "state": ({"s.py": STATE}, ["s.py", "a", "--steps", "-x", "--", "--help"]),
    "state in a folder below": ({"a/s.py": STATE}, ["./a/../a/s.py"]),
    "state of a linked script": ({"a/real.py": STATE, "s.py": "LINK a/real.py"}, ["s.py"]),
    "state of a module": ({"pkg/__init__.py": "", "pkg/sub.py": STATE}, ["-m", "pkg.sub", "-c", "x"]),
    "state of a package": (
        {"pkg/__init__.py": "import sys; print(sys.argv)", "pkg/__main__.py": STATE},
        ["-m", "pkg", "--", "-m"],
    ),
    "state of a folder": ({"app/__main__.py": STATE, "app/other.py": ""}, ["app/", "-v"]),
    "a script without a suffix": ({"train": "print(__file__)"}, ["train"]),
    "an encoding": ({"s.py": "# coding: latin-1\nprint(ascii('\xe9'))".encode("latin-1")}, ["s.py"]),
    "its own flag -h": ({"s.py": "import sys; print(sys.argv)"}, ["s.py", "-h"]),
    # how it ends
    "sys.exit(3)": ({"s.py": "import sys; sys.exit(3)"}, ["s.py"]),
    "sys.exit(-1)": ({"s.py": "import sys; sys.exit(-1)"}, ["s.py"]),
    "sys.exit of a string": ({"s.py": "import sys; print(1); sys.exit('bad end')"}, ["s.py"]),
    "sys.exit of an object": ({"s.py": "raise SystemExit([1, 2])"}, ["s.py"]),
    "sys.exit()": ({"s.py": "import sys; sys.exit()"}, ["s.py"]),
    "os._exit": ({"s.py": "import os; print(1, flush=True); os._exit(7)"}, ["s.py"]),
    "an exception": ({"s.py": "def f():\n    1 / 0\nf()"}, ["s.py"]),
    "an exception in a module": ({"m.py": "1 / 0"}, ["-m", "m"]),
    "an exception with a context": (
        {"s.py": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e"},
        ["s.py"],
    ),
    "an exception group": (
        {"s.py": "import sys\nif sys.version_info >= (3, 11): raise ExceptionGroup('g', [ValueError(1)])"},
        ["s.py"],
    ),
    "a syntax error": ({"s.py": "x = (\n"}, ["s.py"]),
    "a null byte": ({"s.py": b"x = 1\0"}, ["s.py"]),
    "not UTF-8": ({"s.py": b"x = '\xe9'\n"}, ["s.py"]),
    "a syntax warning": ({"s.py": "import re\nx = '\\d'; print(1 is 1)"}, ["s.py"]),
    "a module that does not exist": ({"pkg/__init__.py": ""}, ["-m", "pkg.none"]),
    "a package without __main__": ({"pkg/__init__.py": ""}, ["-m", "pkg"]),
    "an import error": ({"m.py": "import none", "s.py": "import m"}, ["s.py"]),
    "KeyboardInterrupt": ({"s.py": "raise KeyboardInterrupt"}, ["s.py"]),
    "GeneratorExit": ({"s.py": "raise GeneratorExit"}, ["s.py"]),
    "its own excepthook": (
        {"s.py": "import sys\n"
         "def hook(k, e, t):\n    print('mine', k, e, t.tb_lineno, t.tb_next, t is e.__traceback__)\n"
         "sys.excepthook = hook\n"
         "import atexit; atexit.register(lambda: print(sys.excepthook is hook, sys.last_value))\n"
         "raise ValueError(3)"},
        ["s.py"],
    ),
    "a failing __str__": (
        {"s.py": "class E(Exception):\n    def __str__(self): 1 / 0\nraise E"}, ["s.py"],
    ),
    "the last traceback": (
        {"s.py": "import atexit, sys, traceback\n"
         "atexit.register(lambda: traceback.print_tb(sys.last_traceback))\nraise ValueError"},
        ["s.py"],
    ),
    "atexit": (
        {"s.py": "import atexit, sys\n"
         "atexit.register(print, 'first'); atexit.register(print, 'second')\nprint('end')"},
        ["s.py"],
    ),
    "an error in atexit": ({"s.py": "import atexit\natexit.register(lambda: 1 / 0)"}, ["s.py"]),
    "objects at the end": (
        {"s.py": "class A:\n    def __del__(self): print('deleted')\na = A()\nb = [a]"}, ["s.py"],
    ),
    "a thread that goes on": (
        {"s.py": "import threading, time\n"
         "def f():\n    time.sleep(0.05); print('late'); 1 / 0\n"
         "threading.Thread(target=f, name='t').start()\nprint('end')"},
        ["s.py"],
    ),
    "a daemon thread": (
        {"s.py": "import threading, time\n"
         "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"},
        ["s.py"],
    ),
    "killed by itself": ({"s.py": "import os; os.kill(os.getpid(), 15)"}, ["s.py"]),
    # warnings and the stack
    "warnings about the caller": (
        {"s.py": "import warnings\nwarnings.warn('a', stacklevel=1)\nwarnings.warn('b', stacklevel=2)\n"
         "warnings.warn('c', stacklevel=3)\ndef f(): warnings.warn('d', stacklevel=9)\nf()"},
        ["s.py"],
    ),
    "a warning that is an error": (
        {"s.py": "import warnings; warnings.warn('x')"}, ["s.py"], {"flags": ["-W", "error", "-O"]},
    ),
    "flags of Python": ({"s.py": STATE}, ["s.py"], {"flags": ["-u", "-X", "dev", "-B", "-OO"]}),
    "PYTHONSAFEPATH": ({"s.py": "import sys; print(sys.path)"}, ["s.py"], {"flags": ["-P"]}),
    "isolated": ({"s.py": STATE}, ["s.py"], {"flags": ["-I"]}),
    "without site": ({"s.py": STATE}, ["s.py"], {"flags": ["-S"]}),
    # what it writes and reads
    "stdin": ({"s.py": "import sys; print(sys.stdin.read(), input)"}, ["s.py"], {"stdin": "a\nb"}),
    "files": (
        {"s.py": "import os, pickle\nclass A: pass\n"
         "a = A(); a.b = 1\npickle.dump([a, A], open('out.pkl', 'wb'))\n"
         "os.chdir('/'); print(pickle.loads(pickle.dumps(a)).b, A.__module__)"},
        ["s.py"],
    ),
    "inspect": (
        {"s.py": "import inspect\nclass A:\n    x = 1\n"
         "print(inspect.getsource(A), inspect.getfile(A), inspect.getmodule(A))"},
        ["s.py"],
    ),
    "dataclasses": (
        {"s.py": "from __future__ import annotations\nimport dataclasses, typing\n"
         "@dataclasses.dataclass\nclass A:\n    x: typing.Optional[A] = None\n"
         "print(typing.get_type_hints(A), A())"},
        ["s.py"],
    ),
    "random state": (
        {"s.py": "import random\nrandom.seed(1); print(random.random()); print(hash('a'))"},
        ["s.py"],
        {"env": {"PYTHONHASHSEED": "5"}},
    ),
    # other processes
    "os.execv": (
        {"s.py": "import os, sys\nprint(len(sys.argv), flush=True)\n"
         "if len(sys.argv) < 3: os.execv(sys.executable, [sys.executable, *sys.argv, 'x'])"},
        ["s.py", "a"],
    ),
    "os.fork": (
        {"s.py": "import os, sys, atexit\natexit.register(print, 'exit', flush=True)\n"
         "pid = os.fork()\n"
         "if pid: print(os.waitpid(pid, 0)[1])\nelse: sys.exit(5)"},
        ["s.py"],
    ),
    "multiprocessing": (
        {"s.py": "import multiprocessing as mp, sys\n"
         "class A:\n    def __init__(self, x): self.x = x\n"
         "def f(a): return A((a.x, __name__, sys.argv[1:], type(a).__module__))\n"
         "if __name__ == '__main__':\n"
         "    for method in ('fork', 'spawn'):\n"
         "        with mp.get_context(method).Pool(1) as pool:\n"
         "            print(pool.map(f, [A(1)])[0].x)\n"},
        ["s.py", "a"],
        {"flags": ["-W", "ignore"]},
    ),
    "multiprocessing in a module": (
        {"p/__init__.py": "", "p/m.py": "import multiprocessing as mp\n"
         "class A: pass\ndef f(a): return __name__, type(a).__module__\n"
         "if __name__ == '__main__':\n"
         "    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(f, [A()]))\n"},
        ["-m", "p.m"],
    ),
    "subprocess": (
        {"s.py": "import subprocess, sys\n"
         "print(subprocess.run([sys.executable, '-c', 'import os; print(sorted(os.environ.items()))'],"
         "capture_output=True, text=True).stdout)"},
        ["s.py"],
    ),
    "a concurrent pool": (
        {"s.py": "from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor\n"
         "def f(x): return x * 2\n"
         "if __name__ == '__main__':\n"
         "    print(list(ThreadPoolExecutor(2).map(f, range(3))))"},
        ["s.py"],
    ),
    "asyncio": ({"s.py": "import asyncio\nasync def f(): raise ValueError\nasyncio.run(f())"}, ["s.py"]),
    "imports that look for torch": (
        {"s.py": "import importlib.util\nspec = importlib.util.find_spec('torch')\n"
         "print(type(spec).__name__, isinstance(spec, importlib.machinery.ModuleSpec), spec.origin,"
         "type(spec.loader), spec.loader.path, importlib.util.find_spec('torch.none_such')"
         "if False else '')"},
        ["s.py"],
    ),
    "a folder named torch": (
        {"torch/x.py": "y = 1", "s.py": "import sys\nsys.path[1:] = [p for p in sys.path[1:] if 'site-packages' not in p]\n"
         "import torch.x; print(torch.__path__, torch.x.y, type(torch.__spec__), torch.__loader__)"},
        ["s.py"],
    ),
    "a torch that fails": (
        {"torch/__init__.py": "import torch.nn\n", "torch/nn.py": "raise RuntimeError('x')",
         "s.py": "try:\n    import torch\nexcept RuntimeError as e: print(repr(e))\nimport torch"},
        ["s.py"],
    ),
    "a torch that lacks a module": (
        {"torch/__init__.py": "import none_such\n", "s.py": "import torch"}, ["s.py"],
    ),
}  # fmt: skip


def _normal(text):
    import re

    return re.sub(r"0x[0-9a-f]{6,}|Thread-\d+|object at \S+", "ADDRESS", text)


@pytest.mark.parametrize("name", CASES)
def test_the_script_does_what_it_does_without_hookcli(name, both, tmp_path):
    files, args, *more = CASES[name]
    made = {
        file: tmp_path / "work" / text[5:]
        if isinstance(text, str) and text.startswith("LINK ")
        else text
        for file, text in files.items()
    }
    plain, hooked = both(made, *args, **(more[0] if more else {}))
    assert _normal(hooked.err) == _normal(plain.err)
    assert _normal(hooked.out) == _normal(plain.out)
    assert hooked.status == plain.status
    assert hooked.files == plain.files
