"""The rules of `hookcli check`: what each requires of a run, and how it judges the report."""
