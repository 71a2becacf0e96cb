"""Comparisons of two trainings as a table and as Markdown."""
