"""The measurements of where the paths of gradients end: their rows and their sentences."""
