"""Parses `--arg [KEY=]VALUE` into constructor arguments. VALUE is YAML."""

from __future__ import annotations

import re

from hookcli.errors import RequestError
from hookcli.sentences import given_twice, invalid_yaml
from hookcli.spec.request import Argument

_KEYED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def parse_arguments(texts: tuple[str, ...]) -> tuple[Argument, ...]:
    """Return the arguments that the flags describe, in their order.

    Raises
    ------
    RequestError : a value is not YAML, or a name is given twice.

    """
    if not texts:
        return ()
    from hookcli.spec.yaml import load_value  # only here: most commands have no argument

    arguments: list[Argument] = []
    for text in texts:
        match = _KEYED.fullmatch(text)
        name, body = (match[1], match[2]) if match else (None, text)
        if name is not None and any(argument.name == name for argument in arguments):
            raise RequestError(given_twice(name), place=f"--arg {text}", hint="remove one of them")
        try:
            value = load_value(body)
        except ValueError as error:
            raise RequestError(
                invalid_yaml(error),
                place=f"--arg {text}",
                hint="pass `--arg depth=18` or `--arg 'name=\"a: b\"'`, with strings in quotes",
            ) from None
        arguments.append(Argument(name, value, text))
    return tuple(arguments)
