"""Stands in for torch, which takes seconds to import."""

import fractions

SEEN = __spec__._initializing, type(__spec__.loader).__name__, fractions.__name__
