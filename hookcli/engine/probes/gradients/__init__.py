"""Probes about gradients: where their paths end, why they are zero, whether they are right."""
