"""Gradients as a table and as a tree."""
