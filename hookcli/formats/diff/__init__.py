"""Diffs as a table and as Markdown."""
