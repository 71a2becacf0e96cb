"""Parallel plans, right and mutated: whether `hookcli diff` names the module that was changed."""
