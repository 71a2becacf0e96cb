"""Parallel plans: the processes that compare a plan with its model, for `diff` and for `check`."""
