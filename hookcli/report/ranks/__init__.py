"""Merging the reports of several ranks into one."""
