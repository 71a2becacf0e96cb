"""Progress of a run on a terminal: one line, which gives way to whatever else is printed."""
