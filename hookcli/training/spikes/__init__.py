"""Finds the step of a training that left what the steps before it were, and what made it so."""
