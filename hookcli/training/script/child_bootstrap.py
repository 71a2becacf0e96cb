"""The first code of a process that the script starts by multiprocessing, if it is observed.

It is not imported: `file` is its path, `folder` that of the process that starts this one, and
`served` tells whether this one is the fork of a fork server. Any error leaves the process as it is
without hookcli.
"""

import sys

try:
    if "hookcli" not in sys.modules:
        import os

        # Only the package itself: its neighbours may be built for another Python.
        _spec = sys.modules["_frozen_importlib_external"].PathFinder.find_spec(
            "hookcli",
            [os.path.abspath(file + "/../../../..")],  # type: ignore[name-defined]  # noqa: F821, PTH100
        )
        sys.modules["hookcli"] = sys.modules["_frozen_importlib"].module_from_spec(_spec)
        _spec.loader.exec_module(sys.modules["hookcli"])
    from hookcli.training.script.child_session import begin

    begin(folder, served=served)  # type: ignore[name-defined]  # noqa: F821
except Exception:  # noqa: BLE001  # the process must run in any case
    pass
