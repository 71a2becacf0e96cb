"""Trainings of several ranks that were written after public threads, before the rule was read."""
