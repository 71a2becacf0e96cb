"""Attaches hooks: one file for each family of kinds."""
