"""Make the rows of a report from a recording."""
