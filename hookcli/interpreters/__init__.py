"""Interpreters of Python: starts them, and names them in messages and reports."""
