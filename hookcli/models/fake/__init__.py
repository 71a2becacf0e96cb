"""Fake tensors, and forks that try something without side effects."""
