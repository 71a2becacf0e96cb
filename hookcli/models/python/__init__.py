"""Finds, imports and constructs a model from Python source."""
