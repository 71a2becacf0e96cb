"""Configured hooks in a run: attaching them, and what their errors mean."""
