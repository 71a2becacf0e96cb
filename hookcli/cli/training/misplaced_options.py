"""Options of `hookcli run` that stand behind the script, which gets them."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from hookcli.plain_files import read_bytes
from hookcli.spec.training import ScriptSpec

# What a script that reads its arguments names: sys.argv, or a library that does.
_READS = re.compile(
    r"argv|argparse|ArgumentParser|parse_args|click|typer|absl|hydra|docopt|tyro|OmegaConf|"
    r"\bfire\b|getopt|jsonargparse|simple_parsing|\bcli\b|CLI\b"
)


def misplaced_options(script: ScriptSpec, own: AbstractSet[str]) -> list[str]:
    """Return the arguments of a script that are options of `hookcli run`, whose names are `own`.

    None if the script may read its arguments, or cannot be read.
    """
    given = [word.partition("=")[0] for word in script.arguments]
    found = [word for word in dict.fromkeys(given) if word.startswith("-") and word in own]
    if not found or script.is_module:
        return []
    try:
        source = read_bytes(script.name) if script.source is None else script.source
    except OSError:
        return []
    return [] if _READS.search(source.decode(errors="replace")) else found
