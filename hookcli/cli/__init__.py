"""The command line. Only this package uses typer and decides exit statuses."""
