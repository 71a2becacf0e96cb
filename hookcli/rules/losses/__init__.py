"""Rules about what loss functions get."""
