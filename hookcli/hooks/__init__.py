"""Configured hooks: their targets, their context, and the model formats that support them."""
