"""A fifth set of broken and healthy models and trainings, after other public sources."""
