"""Reads the source of a script: the function that runs, its variables, and the loss in it."""
