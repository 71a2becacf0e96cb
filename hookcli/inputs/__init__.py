"""The batch of a run: declared by the model, read from files or inferred; made into tensors."""
