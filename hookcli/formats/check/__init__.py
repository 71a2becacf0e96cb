"""A check as a table and as Markdown."""
