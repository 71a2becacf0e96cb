"""The report as plain data: no tensors, no torch, JSON round trip."""
