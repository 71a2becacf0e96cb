"""Runs the test suite with several versions of torch and Python, and writes docs/versions.md."""
