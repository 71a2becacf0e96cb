"""Detects what MODEL names from its path and content, without torch."""
