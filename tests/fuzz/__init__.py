"""Hostile input for the command line: `python -m tests.fuzz`, which `make fuzz` runs."""
