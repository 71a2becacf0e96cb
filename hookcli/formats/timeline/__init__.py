"""Calls and events on a timeline."""
