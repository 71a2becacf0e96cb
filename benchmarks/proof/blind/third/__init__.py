"""A second set of broken and healthy models and trainings, written before any rule was read."""
