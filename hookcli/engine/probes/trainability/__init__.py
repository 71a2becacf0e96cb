"""Probes that train the model for some steps, run it in another way, or look at its loss."""
