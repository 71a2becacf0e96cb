"""Fake tensors, and processes that fork under them."""
