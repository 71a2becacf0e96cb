"""Where formats write that do not write to one file."""
