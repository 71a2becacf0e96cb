"""Runs a model by a parallel plan of the user's, and compares its ranks with a reference."""
