"""Operators of a run: their names, their inputs, and why a result is not finite."""
