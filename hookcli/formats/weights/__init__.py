"""The documents of weights and of their comparison: tensors as a table, and as a tree."""
