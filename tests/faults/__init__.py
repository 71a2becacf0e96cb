"""Signals at random moments of commands, and what they leave behind."""
