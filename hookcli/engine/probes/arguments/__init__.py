"""What functions and layers of PyTorch are called with."""
