"""Writes formats whose target is a folder."""
