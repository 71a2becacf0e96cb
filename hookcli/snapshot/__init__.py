"""`hookcli snapshot`: checks that a model passes today, made from a report."""
