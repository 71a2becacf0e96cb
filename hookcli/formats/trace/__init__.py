"""The document of trace: events as a table, and as a tree."""
