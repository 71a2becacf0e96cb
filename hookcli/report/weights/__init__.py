"""The reports of files of weights and of their comparison, as plain data."""
