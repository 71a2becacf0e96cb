"""Counts the references to an object, to find out whether only hookcli's are left."""

from __future__ import annotations

import sys
from typing import Any

_probe = [object()]
_OF_LIST = sys.getrefcount(_probe[0])  # those of the list and of the call, which differ by version


def count_references(only: list[Any]) -> int:
    """Return how many references there are to the only item of a list, besides that of the list.

    Variables of the caller count. Pass an expression, as in `count_references([self.root])`.
    """
    return sys.getrefcount(only[0]) - _OF_LIST
