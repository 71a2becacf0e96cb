"""The data that the two runs of a diff exchange and record."""
