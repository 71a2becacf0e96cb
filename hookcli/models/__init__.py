"""The `Model` seam and its backends: finding, building and calling what the user named."""
