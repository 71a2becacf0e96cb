"""Configured hooks: their targets, their context, and what backends can have them."""
