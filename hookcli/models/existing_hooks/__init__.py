"""Hooks that a model has before hookcli attaches any: finds, names and removes them."""
