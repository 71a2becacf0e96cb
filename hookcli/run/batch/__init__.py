"""The batch of a run: declared, given or inferred, and held against fake tensors."""
