"""Operators of a run: their names, what they got, and why a result is not finite."""
