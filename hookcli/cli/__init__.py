"""The command line: one file per command; the only place that knows typer and exit statuses."""
