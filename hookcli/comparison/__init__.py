"""Compares two reports: matches their calls, and finds the first difference."""
