"""The report of a training script: a summary, a table, a tree, Markdown."""
