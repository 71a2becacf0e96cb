"""Trainings in this process."""

from tests.own_file import only_own_file

__all__ = ["only_own_file"]
