"""Compare two trainings: hookcli.rundiff/1."""
