"""Attaches the configured hooks during a run, and explains their errors."""
