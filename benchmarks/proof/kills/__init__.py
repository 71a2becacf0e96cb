"""Trainings that are ended at random moments, and whether what is left of them is right."""
