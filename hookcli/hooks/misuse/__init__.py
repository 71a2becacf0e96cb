"""Finds misuse of hooks: edits in place, returns that PyTorch rejects, tensors kept alive."""
