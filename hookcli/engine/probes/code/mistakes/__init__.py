"""Mistakes that code shows as it is written, without a run."""
