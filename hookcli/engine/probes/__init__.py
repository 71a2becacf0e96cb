"""Probes: what rules need in addition to a run's rows, such as values and further runs."""
