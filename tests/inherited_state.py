"""Makes what the suite inherits the same. tests/conftest.py imports it first.

Tests and the commands that they run would inherit it too: a terminal without a cursor, the settings
of a shell, a step of a workflow. Signals that are ignored, as under nohup, stay so in this process;
commands are started with `heed_signals`.
"""

import os

_SETTINGS = ("COLUMNS", "LINES", "GITHUB_ACTIONS", "NO_COLOR", "FORCE_COLOR", "PYTHONWARNINGS")

for _name in _SETTINGS:
    os.environ.pop(_name, None)
os.environ["TERM"] = "xterm"
# Tests run side by side: threads that wait for each other would take a quarter of the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.umask(0o022)
