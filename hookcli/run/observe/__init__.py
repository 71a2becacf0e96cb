"""Observers on the model: calls, gradients, parameters, time."""
