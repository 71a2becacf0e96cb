"""What loss functions and distributions get, and what a loss consists of."""
