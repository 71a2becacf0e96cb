"""A seventh set of cases, one half of which is run to measure only."""
