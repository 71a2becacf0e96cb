"""The commands: one file each, with a function of the command's name and EXAMPLES for its help.

Importing this imports none of them.
"""

from __future__ import annotations

# In the order of --help.
GROUPS = {
    "Inspect a model": ("inspect", "grads", "trace"),
    "Observe a training": ("run", "follow", "ask"),
    "Compare and check": ("check", "diff", "snapshot"),
    "Configuration and reference": ("init", "list", "explain", "render", "schema"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
# These are likely to run a model, so that a worker is started before their flags are read.
RUNNING = frozenset(("inspect", "grads", "trace", "check", "diff"))
