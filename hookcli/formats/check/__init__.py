"""The document of a check, and the findings of a training as one report."""
