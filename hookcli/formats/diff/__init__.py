"""A diff as a table, as Markdown and as JSON."""
