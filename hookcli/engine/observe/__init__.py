"""Observers of a run: calls, gradients, parameters, times."""
