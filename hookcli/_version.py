"""The version, where nothing else is imported with it."""

__version__ = "0.2.0"
