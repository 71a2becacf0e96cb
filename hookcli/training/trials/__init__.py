"""Tries in a copy of the process whether a few steps on one batch lower its loss."""
