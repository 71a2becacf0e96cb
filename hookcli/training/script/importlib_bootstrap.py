"""The file that `hookcli run` starts instead of the script. Any Python 3 can read it.

Its name is on purpose. Python's warnings count the callers of the code that warns, and skip files
whose path contains "importlib" and "_bootstrap": so a script that warns about its caller names the
same line as without hookcli.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_signal = sys.modules["_signal"]  # built into Python, unlike the module signal
_SIGINT = 2


def run(call: "Callable[..., object]", *arguments: object) -> None:
    """Call the function that runs the script. Only this frame and the file's are below it."""
    try:
        if _signal.getsignal(_SIGINT) == _signal.SIG_DFL:
            _signal.signal(_SIGINT, _signal.default_int_handler)
        call(*arguments)
    except BaseException as error:
        note = sys.modules["hookcli.training.script.ending"].note
        try:
            note(error)
        except BaseException:  # noqa: BLE001  # a signal again, before it is held back
            note(error)
        raise


if __name__ == "__main__":
    # Until the script runs, Ctrl-C ends the process without a traceback, which would be of hookcli.
    if _signal.getsignal(_SIGINT) is _signal.default_int_handler:
        _signal.signal(_SIGINT, _signal.SIG_DFL)
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        del sys.path[0]  # the folder of this file
    if list(sys.version_info[:2]) < [3, 10]:
        sys.exit("hookcli requires Python 3.10 or newer, got Python " + sys.version.split()[0])
    sys.argv[0:1] = [list(sys.modules), list(sys.path_importer_cache), __file__]  # type: ignore[list-item]
    import os

    # Only the package itself is handed over. Its neighbours may be built for another Python, and
    # hide the packages of the user.
    _spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(
        "hookcli",
        [os.path.abspath(__file__ + "/../../../..")],  # noqa: PTH100
    )
    sys.modules["hookcli"] = sys.modules["_frozen_importlib"].module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["hookcli"])
    import hookcli.training.script.importlib_bootstrap
    import hookcli.training.script.native_main  # noqa: F401  # used by its name, as this namespace is emptied

    sys.modules["hookcli.training.script.importlib_bootstrap"].run(
        *sys.modules["hookcli.training.script.native_main"].prepare()
    )
