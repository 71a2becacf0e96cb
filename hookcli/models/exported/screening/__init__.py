"""Checks whether a `.pt2` can run code when torch opens it, before torch does."""
