"""Saves and restores the state that a run must not change."""
