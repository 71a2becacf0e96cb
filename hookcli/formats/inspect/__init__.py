"""Layers as a table and as a tree."""
