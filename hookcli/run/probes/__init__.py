"""What rules ask of a run beside its rows: looks at values, and runs with something changed."""
