"""Resumed trainings that lost a part of their state, and right ones, compared with the whole one."""
