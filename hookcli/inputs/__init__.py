"""The batch: declared, read from files, inferred, made into tensors."""
