"""The only file that starts programs: no process of hookcli imports from the working folder.

`python -c` and `python -m` put the working folder first on sys.path, before the standard library.
A file `json.py` in a checkout would then run instead of Python's own. `python -I` would prevent it,
and also drop PYTHONPATH and the user's packages, where torch may be. So each process removes the
working folder as the first thing it does.

This imports only what Python has loaded, not even __future__: `python -m hookcli` runs it before
the working folder is removed, and the user's script runs in a process that uses it.
"""

import os
import sys

TYPE_CHECKING = False  # known to type checkers: importing typing is slow
if TYPE_CHECKING:
    import subprocess
    from typing import Any

_HOME = os.path.abspath(__file__ + "/../../..")  # noqa: PTH100  # pathlib is slow

# A shell runs the first line, which ends it. Python ignores a string.
_SHELL_GUARD = '"exit"\n'
# Any version of Python can run these lines. PYTHONPATH may name the working folder too, often by an
# empty part, as in PYTHONPATH=$PYTHONPATH:more. The model's own imports still find it: see
# models/python/user_folders.py. Other entries may be where Python itself is. A folder with torch is
# where packages are.
WITHOUT_WORKING_FOLDER = f"""{_SHELL_GUARD}import os, sys
if sys.path[:1] == [""]:
    del sys.path[0]
def _removed():
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        return
    for name in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        path = os.path.abspath(name)
        if path in sys.path and os.path.realpath(path) == here:
            packages = os.path.isdir(os.path.join(path, "torch"))
            if not packages and path != os.path.dirname(os.__file__):
                sys.path.remove(path)
if os.environ.get("PYTHONPATH") and not sys.flags.ignore_environment:
    _removed()
del _removed
"""
# Only the package itself is handed over. Its neighbours may be built for another Python, and hide
# the packages of the user.
_HOOKCLI = f"""
import importlib.machinery, importlib.util
_spec = importlib.machinery.PathFinder.find_spec("hookcli", [{_HOME!r}])
sys.modules["hookcli"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["hookcli"])
sys.orig_argv[:] = [sys.executable, "-c", *sys.argv[1:]]
sys.argv[0] = "hookcli"
from hookcli import __main__
__main__.%s()
"""


def python_command(
    python: str, code: str, *arguments: str, flags: tuple[str, ...] = ()
) -> list[str]:
    """Return the command that runs code of hookcli without the working folder on sys.path.

    `code` follows `import os, sys`. `sys.argv[1:]` are the arguments.
    """
    return [python, *flags, "-c", WITHOUT_WORKING_FOLDER + code, *arguments]


def hookcli_command(*arguments: str, function: str = "main") -> list[str]:
    """Return the command that runs this hookcli with the arguments of a command line.

    `function` is that of `hookcli.__main__` which runs it.
    """
    return python_command(sys.executable, _HOOKCLI % function, *arguments)


def start_python(command: list[str], **options: "Any") -> "subprocess.Popen[Any]":
    """Start a command of `python_command`, or the script that the user named.

    `options` are those of `subprocess.Popen`.

    Raises
    ------
    OSError : it cannot be started.

    """
    import subprocess

    return subprocess.Popen(command, **options)


def start_apart(command: list[str], *, stderr: bool) -> None:
    """Start a command of `python_command` as no child of this process and in another session.

    It has no stdin and no stdout; with `stderr` it has that of this process.

    Raises
    ------
    OSError : it cannot be started.

    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1) if stderr else (0, 1, 2):
            os.dup2(null, number)
        os.execv(command[0], command)
    finally:
        os._exit(1)


def run_python(
    command: list[str], timeout: float | None = None, **options: "Any"
) -> "subprocess.CompletedProcess[Any]":
    """Run a command of `python_command` to its end, and return its status and its output.

    Raises
    ------
    OSError : it cannot be started.
    subprocess.TimeoutExpired : it did not end within `timeout` seconds, and was killed.

    """
    import subprocess

    with start_python(command, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def run_program(command: "tuple[str, ...]", data: bytes, timeout: float) -> "str | None":
    """Run a program of the user in a session of its own, with `data` on its stdin.

    It is killed if it has not ended within `timeout` seconds. Return why it failed; None if it did
    not.
    """
    import contextlib
    import signal
    import subprocess

    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        return error.strerror or str(error)
    try:
        process.communicate(data, timeout=timeout)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"it has not ended within {timeout:g} s"
    return f"exit status {process.returncode}" if process.returncode else None


def become_python(command: list[str], environment: dict[str, str] | None = None) -> int:
    """Replace this process by Python that runs the user's script, as plain Python does.

    The folder of the script is first on its path. On Windows, which has no such call, the process
    is a child, and its exit status is returned.

    Raises
    ------
    OSError : it cannot be started.

    """
    if os.name == "nt":  # exec would return to the shell at once
        return start_python(command, env=environment).wait()
    if environment is None:
        return os.execv(command[0], command)
    return os.execve(command[0], command, environment)
