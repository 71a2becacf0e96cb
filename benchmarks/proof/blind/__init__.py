"""Broken and healthy models and trainings that were written before any rule was read.

Each file of `models/` and `trainings/` is a case after a public source, which its docstring names.
"""
