"""Scripts that run with and without hookcli: name, files, the command line, options of the run."""

from __future__ import annotations

STATE = """import sys
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
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), threading.active_count())
print(sorted(os.listdir("/dev/fd")))
print(atexit.__name__, atexit.unregister(print))
"""

CASES = {
    "state": ({"s.py": STATE}, ["s.py", "a", "--steps", "-x", "--", "--help"]),
    "state in a folder below": ({"a/s.py": STATE}, ["./a/../a/s.py"]),
    "state of a linked script": ({"a/real.py": STATE, "s.py": "LINK a/real.py"}, ["s.py"]),
    "state of a module": (
        {"pkg/__init__.py": "", "pkg/sub.py": STATE},
        ["-m", "pkg.sub", "-c", "x"],
    ),
    "state of a package": (
        {"pkg/__init__.py": "import sys; print(sys.argv)", "pkg/__main__.py": STATE},
        ["-m", "pkg", "--", "-m"],
    ),
    "state of a folder": ({"app/__main__.py": STATE, "app/other.py": ""}, ["app/", "-v"]),
    "a script without a suffix": ({"train": "print(__file__)"}, ["train"]),
    "an encoding": ({"s.py": b"# coding: latin-1\nprint(ascii('\xe9'))"}, ["s.py"]),
    "its own flag -h": ({"s.py": "import sys; print(sys.argv)"}, ["s.py", "-h"]),
    "sys.exit(3)": ({"s.py": "import sys; sys.exit(3)"}, ["s.py"]),
    "sys.exit(-1)": ({"s.py": "import sys; sys.exit(-1)"}, ["s.py"]),
    "sys.exit of a string": ({"s.py": "import sys; print(1); sys.exit('bad end')"}, ["s.py"]),
    "sys.exit of an object": ({"s.py": "raise SystemExit([1, 2])"}, ["s.py"]),
    "sys.exit()": ({"s.py": "import sys; sys.exit()"}, ["s.py"]),
    "os._exit": ({"s.py": "import os; print(1, flush=True); os._exit(7)"}, ["s.py"]),
    "an exception": (
        {
            "s.py": """
def f():
    1 / 0
f()
"""
        },
        ["s.py"],
    ),
    "an exception in a module": ({"m.py": "1 / 0"}, ["-m", "m"]),
    "an exception with a context": (
        {
            "s.py": """
try:
    1 / 0
except ZeroDivisionError as e:
    raise ValueError('x') from e
"""
        },
        ["s.py"],
    ),
    "an exception group": (
        {
            "s.py": """
import sys
if sys.version_info >= (3, 11): raise ExceptionGroup('g', [ValueError(1)])
"""
        },
        ["s.py"],
    ),
    "a syntax error": ({"s.py": "x = (\n"}, ["s.py"]),
    "a null byte": ({"s.py": b"x = 1\x00"}, ["s.py"]),
    "not UTF-8": ({"s.py": b"x = '\xe9'\n"}, ["s.py"]),
    "a syntax warning": (
        {
            "s.py": """
import re
x = '\\d'; print(1 is 1)
"""
        },
        ["s.py"],
    ),
    "a module that does not exist": ({"pkg/__init__.py": ""}, ["-m", "pkg.none"]),
    "a package without __main__": ({"pkg/__init__.py": ""}, ["-m", "pkg"]),
    "an import error": ({"m.py": "import none", "s.py": "import m"}, ["s.py"]),
    "KeyboardInterrupt": ({"s.py": "raise KeyboardInterrupt"}, ["s.py"]),
    "a subclass of KeyboardInterrupt": (
        {"s.py": "class Stop(KeyboardInterrupt): pass\nraise Stop('x')"},
        ["s.py"],
    ),
    "KeyboardInterrupt in a module": ({"m.py": "raise KeyboardInterrupt"}, ["-m", "m"]),
    "KeyboardInterrupt, then code from a string at exit": (
        {
            "s.py": """
import atexit
atexit.register(exec, 'print(1)')
raise KeyboardInterrupt
"""
        },
        ["s.py"],
    ),
    "KeyboardInterrupt at exit": (
        {
            "s.py": """
import atexit
def f(): raise KeyboardInterrupt
atexit.register(f)
"""
        },
        ["s.py"],
    ),
    "GeneratorExit": ({"s.py": "raise GeneratorExit"}, ["s.py"]),
    "its own excepthook": (
        {
            "s.py": """
import sys
def hook(k, e, t):
    print('mine', k, e, t.tb_lineno, t.tb_next, t is e.__traceback__)
sys.excepthook = hook
import atexit; atexit.register(lambda: print(sys.excepthook is hook, sys.last_value))
raise ValueError(3)
"""
        },
        ["s.py"],
    ),
    "a failing __str__": (
        {
            "s.py": """
class E(Exception):
    def __str__(self): 1 / 0
raise E
"""
        },
        ["s.py"],
    ),
    "the last traceback": (
        {
            "s.py": """
import atexit, sys, traceback
atexit.register(lambda: traceback.print_tb(sys.last_traceback))
raise ValueError
"""
        },
        ["s.py"],
    ),
    "atexit": (
        {
            "s.py": """
import atexit, sys
atexit.register(print, 'first'); atexit.register(print, 'second')
print('end')
"""
        },
        ["s.py"],
    ),
    "an error in atexit": (
        {
            "s.py": """
import atexit
atexit.register(lambda: 1 / 0)
"""
        },
        ["s.py"],
    ),
    "objects at the end": (
        {
            "s.py": """
class A:
    def __del__(self): print('deleted')
a = A()
b = [a]
"""
        },
        ["s.py"],
    ),
    "a thread that goes on": (
        {
            "s.py": """
import threading
def f():
    threading.main_thread().join(); print('late'); 1 / 0
threading.Thread(target=f, name='t').start()
print('end')
"""
        },
        ["s.py"],
    ),
    "a daemon thread": (
        {
            "s.py": """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
"""
        },
        ["s.py"],
    ),
    "killed by itself": ({"s.py": "import os; os.kill(os.getpid(), 15)"}, ["s.py"]),
    "warnings about the caller": (
        {
            "s.py": """
import warnings
warnings.warn('a', stacklevel=1)
warnings.warn('b', stacklevel=2)
warnings.warn('c', stacklevel=3)
def f(): warnings.warn('d', stacklevel=9)
f()
"""
        },
        ["s.py"],
    ),
    "a warning that is an error": (
        {"s.py": "import warnings; warnings.warn('x')"},
        ["s.py"],
        {"flags": ["-W", "error", "-O"]},
    ),
    "flags of Python": ({"s.py": STATE}, ["s.py"], {"flags": ["-u", "-X", "dev", "-B", "-OO"]}),
    "PYTHONSAFEPATH": ({"s.py": "import sys; print(sys.path)"}, ["s.py"], {"flags": ["-P"]}),
    "isolated": ({"s.py": STATE}, ["s.py"], {"flags": ["-I"]}),
    "without site": ({"s.py": STATE}, ["s.py"], {"flags": ["-S"]}),
    "stdin": ({"s.py": "import sys; print(sys.stdin.read(), input)"}, ["s.py"], {"stdin": "a\nb"}),
    "files": (
        {
            "s.py": """
import os, pickle
class A: pass
a = A(); a.b = 1
pickle.dump([a, A], open('out.pkl', 'wb'))
os.chdir('/'); print(pickle.loads(pickle.dumps(a)).b, A.__module__)
"""
        },
        ["s.py"],
    ),
    "inspect": (
        {
            "s.py": """
import inspect
class A:
    x = 1
print(inspect.getsource(A), inspect.getfile(A), inspect.getmodule(A))
"""
        },
        ["s.py"],
    ),
    "dataclasses": (
        {
            "s.py": """
from __future__ import annotations
import dataclasses, typing
@dataclasses.dataclass
class A:
    x: typing.Optional[A] = None
print(typing.get_type_hints(A), A())
"""
        },
        ["s.py"],
    ),
    "random state": (
        {
            "s.py": """
import random
random.seed(1); print(random.random()); print(hash('a'))
"""
        },
        ["s.py"],
        {"env": {"PYTHONHASHSEED": "5"}},
    ),
    "os.execv": (
        {
            "s.py": """
import os, sys
print(len(sys.argv), flush=True)
if len(sys.argv) < 3: os.execv(sys.executable, [sys.executable, *sys.argv, 'x'])
"""
        },
        ["s.py", "a"],
    ),
    "os.fork": (
        {
            "s.py": """
import os, sys, atexit
atexit.register(print, 'exit', flush=True)
pid = os.fork()
if pid: print(os.waitpid(pid, 0)[1])
else: sys.exit(5)
"""
        },
        ["s.py"],
    ),
    "multiprocessing": (
        {
            "s.py": """
import multiprocessing as mp, sys
class A:
    def __init__(self, x): self.x = x
def f(a): return A((a.x, __name__, sys.argv[1:], type(a).__module__))
if __name__ == '__main__':
    for method in ('fork', 'spawn'):
        with mp.get_context(method).Pool(1) as pool:
            print(pool.map(f, [A(1)])[0].x)
"""
        },
        ["s.py", "a"],
        {"flags": ["-W", "ignore"]},
    ),
    "multiprocessing in a module": (
        {
            "p/__init__.py": "",
            "p/m.py": """
import multiprocessing as mp
class A: pass
def f(a): return __name__, type(a).__module__
if __name__ == '__main__':
    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(f, [A()]))
""",
        },
        ["-m", "p.m"],
    ),
    "subprocess": (
        {
            "s.py": """
import subprocess, sys
code = 'import os; print(sorted(os.environ.items()))'
print(subprocess.check_output([sys.executable, '-c', code], text=True))
"""
        },
        ["s.py"],
    ),
    "a concurrent pool": (
        {
            "s.py": """
from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor
def f(x): return x * 2
if __name__ == '__main__':
    print(list(ThreadPoolExecutor(2).map(f, range(3))))
"""
        },
        ["s.py"],
    ),
    "asyncio": (
        {
            "s.py": """
import asyncio
async def f(): raise ValueError
asyncio.run(f())
"""
        },
        ["s.py"],
    ),
    "imports that look for torch": (
        {
            "s.py": """
import importlib.util
spec = importlib.util.find_spec('torch')
print(type(spec).__name__, isinstance(spec, importlib.machinery.ModuleSpec))
print(spec.origin, type(spec.loader), spec.loader.path)
"""
        },
        ["s.py"],
    ),
    "a folder named torch": (
        {
            "torch/x.py": "y = 1",
            "s.py": """
import sys
sys.path[1:] = [p for p in sys.path[1:] if 'site-packages' not in p]
import torch.x; print(torch.__path__, torch.x.y, type(torch.__spec__), torch.__loader__)
""",
        },
        ["s.py"],
    ),
    "a torch that fails": (
        {
            "torch/__init__.py": "import torch.nn\n",
            "torch/nn.py": "raise RuntimeError('x')",
            "s.py": """
try:
    import torch
except RuntimeError as e: print(repr(e))
import torch
""",
        },
        ["s.py"],
    ),
    "a torch that lacks a module": (
        {"torch/__init__.py": "import none_such\n", "s.py": "import torch"},
        ["s.py"],
    ),
}
