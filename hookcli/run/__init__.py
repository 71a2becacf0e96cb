"""Running a model once and noting what happens."""
