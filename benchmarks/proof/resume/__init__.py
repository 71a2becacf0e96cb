"""Resumed trainings, right ones and those that lost a part of their state."""
