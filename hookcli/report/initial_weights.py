"""How torch initializes the weights of linear layers and convolutions."""

from __future__ import annotations

import math

WIDE = 5.0  # times the standard deviation of torch's own initialization


def usual_deviation(inputs: int) -> float:
    """Return the standard deviation with which torch initializes the weights of a unit.

    They are uniform between -1 / sqrt(inputs) and 1 / sqrt(inputs).
    """
    return 1 / math.sqrt(3 * inputs)
