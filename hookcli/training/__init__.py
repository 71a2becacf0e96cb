"""Observes the training of a script: its roots, its optimizers and their steps."""
