"""Hooks in a training loop that hookcli does not run itself."""
