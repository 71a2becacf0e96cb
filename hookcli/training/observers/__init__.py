"""Observers of what a script does between its steps: each finds one kind of mistake."""
