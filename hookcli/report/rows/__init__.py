"""A recording → the rows of a report."""
