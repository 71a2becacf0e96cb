"""The document of a diff."""
