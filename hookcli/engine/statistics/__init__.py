"""Statistics of tensors: norms, moments, counts, digests, sketches."""
