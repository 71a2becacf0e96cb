"""Runs training scripts in forks that have torch already: by hookcli run, and by the oracle.

`hookcli run` replaces its process by Python, which runs the bootstrap. Here the bootstrap runs in
the same process, with a `__main__` of its own, and torch is hidden until the script imports it.
What is about processes themselves is tested with real ones.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import traceback
import types
from importlib.machinery import ModuleSpec

_NAME = "importlib_bootstrap.py"
PATH = list(sys.path)  # as PYTHONPATH and the installation make it


class _Hidden:
    """Finds torch, which is imported already, when the script imports it."""

    def __init__(self) -> None:
        self._torch = sys.modules.pop("torch")

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, origin=self._torch.__file__) if name == "torch" else None

    def create_module(self, spec):
        self._spec = self._torch.__spec__, self._torch.__loader__
        return self._torch

    def exec_module(self, module):
        import multiprocessing.util

        atexit.register(multiprocessing.util._exit_function)  # as importing torch does


def watch_exec() -> None:
    """Let os.execve run hookcli's bootstrap in this process."""
    execve = os.execve

    def in_this_process(path, command, environment):
        at = next((i for i, word in enumerate(command) if word.endswith(_NAME)), None)
        if at is None or path != sys.executable:
            execve(path, command, environment)
        os.execve = execve
        as_main(lambda: _bootstrap(command[at:], environment))

    os.execve = in_this_process


def _bootstrap(arguments, environment):
    from hookcli.training.script.importlib_bootstrap import run
    from hookcli.training.script.native_main import prepare
    from hookcli.training.script.session import ScriptSession

    os.environ.clear()
    os.environ.update(environment)
    ScriptSession._judge = lambda session, verdict: _Judge(session, verdict)
    sys.argv = [list(sys.modules), list(sys.path_importer_cache), *arguments]
    return run, *prepare()


def oracle(arguments: list[str]) -> None:
    """Run a script with the comments of the oracle as code."""
    import runpy

    from tests.training import oracle as module

    def prepare():
        atexit.register(module.write)
        sys.meta_path.insert(0, module.Finder(os.path.dirname(_path(arguments)) or os.getcwd()))
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            sys.path.insert(0, os.getcwd())
            return runpy._run_module_as_main, arguments[1]
        sys.argv = arguments
        path = os.path.join(os.getcwd(), arguments[0])
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
        names = sys.modules["__main__"].__dict__
        names["__file__"] = path
        names["__loader__"] = module.Loader("__main__", path)
        return exec, names["__loader__"].get_code("__main__"), names

    as_main(prepare)


def _path(arguments):
    return os.getcwd() + "/" if arguments[0] == "-m" else os.path.abspath(arguments[0])


def as_main(prepare) -> None:
    """Run what `prepare` returns, a function and its arguments, as Python runs a script."""
    sys.path[:] = PATH
    atexit._clear()  # what the server does when it ends
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = main
    sys.modules.pop("__mp_main__", None)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.meta_path.insert(0, _Hidden())
    status = 0
    try:
        call, *rest = prepare()
        call(*rest)
    except SystemExit as leaving:
        code = leaving.code
        status = code if isinstance(code, int) else 0 if code is None else 1
        if not isinstance(code, int | None):
            print(code, file=sys.stderr)
    except BaseException as error:
        status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        error.__traceback__ = error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        error.__traceback__ = None
    threading._shutdown()
    atexit._run_exitfuncs()
    _flush()
    if status < 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


class _Judge:
    """The process that judges and renders, a fork too, with the methods of Popen."""

    def __init__(self, session, verdict: int) -> None:
        reader, self._writer = os.pipe()
        _flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(reader, 0)
                os.close(self._writer)
                if session._folder and os.path.isdir(
                    session._folder
                ):  # the script may have removed it
                    os.chdir(session._folder)
                os.environ.clear()
                os.environ.update(session._environment)
                sys.stdin = open(0, closefd=False)
                sys.argv = ["-c", str(verdict)]
                from hookcli.cli.training.end_of_run import main

                main()
            except BaseException:
                traceback.print_exc()
                _flush()
            finally:
                os._exit(70)
        os.close(reader)

    def communicate(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError), open(self._writer, "wb") as stream:
            stream.write(data)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or a full disk
            stream.flush()
