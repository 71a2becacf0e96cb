"""The line of progress of a run on a terminal, erased before anything else is printed."""
