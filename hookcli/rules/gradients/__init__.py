"""Rules about gradients: whether they reach every layer, and with which size."""
