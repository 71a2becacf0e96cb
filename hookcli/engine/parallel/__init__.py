"""Runs a model by a parallel plan of the user's, and compares what its ranks have with a reference."""
