"""Runs a user's Python script as `python SCRIPT` does, and notices when it imports torch."""
