"""What a run must leave as it was."""
