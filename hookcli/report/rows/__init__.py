"""Makes the rows of a report from a recording."""
