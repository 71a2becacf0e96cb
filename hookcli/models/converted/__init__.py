"""Modules that torch.compile wrapped, and quantized ones: unwrapped, or seen as plain ones."""
