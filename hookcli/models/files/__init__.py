"""Files that hold models or tensors, opened safely."""
