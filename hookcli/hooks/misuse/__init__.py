"""What a hook must not do: edit its arguments, return what PyTorch refuses, keep tensors."""
