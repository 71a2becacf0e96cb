"""The types of measurements, which a saved report must have."""
