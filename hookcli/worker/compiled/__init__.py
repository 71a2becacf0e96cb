"""Compiled models: the processes that compare one with the eager model, for `diff` and `check`."""
