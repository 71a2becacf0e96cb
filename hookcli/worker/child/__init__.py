"""The worker's own side, which imports torch."""
