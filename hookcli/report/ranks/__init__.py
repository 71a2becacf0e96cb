"""Merges the reports of several ranks into one."""
