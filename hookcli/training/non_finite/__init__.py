"""Finds the operator that made the first value of a training that is not finite."""
