"""The option table, the parameters that typer reads of it, and the checks of its values."""
