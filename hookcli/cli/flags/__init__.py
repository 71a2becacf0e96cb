"""The table of options, the parameters that typer reads from it, and the checks of its values."""
