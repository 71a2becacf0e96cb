"""Run by a test in a process that has torch already: many commands at once, in forks of it.

Arguments: a JSON list of command lines. Prints a JSON list of the statuses and of what stderr got.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback

import hookcli.__main__
import hookcli.cli.main


def start(arguments: list[str], errors: int) -> int:
    """Start a command whose stdout is discarded, and return its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        sys.argv = [hookcli.__main__.__file__, *arguments]
        hookcli.__main__.main()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(70)


files = [tempfile.TemporaryFile() for _ in json.loads(sys.argv[1])]
started = [start(a, f.fileno()) for a, f in zip(json.loads(sys.argv[1]), files, strict=True)]
results = []
for pid, file in zip(started, files, strict=True):
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    file.seek(0)
    results.append((status, file.read().decode()))
print(json.dumps(results))
