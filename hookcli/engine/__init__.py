"""Runs a model and records what happens."""
