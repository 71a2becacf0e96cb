"""The rules of `hookcli check`: what each needs of a run, and how it judges the report."""
