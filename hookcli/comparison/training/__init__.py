"""Compares two trainings: where they part."""
