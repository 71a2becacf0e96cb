"""Checks as a table and as Markdown."""
