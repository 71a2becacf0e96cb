"""Finds the operator that made the first value that is not finite, in a second run."""
