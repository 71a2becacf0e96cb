"""The dummy batch: its grammar, what a model declares, and making the tensors."""
