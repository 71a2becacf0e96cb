"""Checks of a report that was read from a file, beyond the types of its fields."""
