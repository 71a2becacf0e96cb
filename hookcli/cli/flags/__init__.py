"""The option table, and what is made of it: parameters for typer, typed groups of values."""
