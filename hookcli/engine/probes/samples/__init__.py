"""Probes about the samples of a batch: whether they are independent, and what mixes them."""
