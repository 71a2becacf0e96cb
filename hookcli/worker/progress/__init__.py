"""Progress of a run on a terminal: one line, erased before anything else is printed."""
