"""Runs a user's Python script as `python SCRIPT` does, and tells when torch was imported."""
