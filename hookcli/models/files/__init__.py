"""Opens files of models and tensors safely."""
