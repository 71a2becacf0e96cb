"""Open files of models or tensors safely."""
