"""The loss of a run: of the outputs, of torch.nn, the user's, or that of the model itself."""
