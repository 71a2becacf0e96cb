"""Runs a model on several ranks: joins them, wraps the model, exchanges their reports."""
