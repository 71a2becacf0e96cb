"""The batch of a run: given, declared or inferred, and checked with fake tensors."""
