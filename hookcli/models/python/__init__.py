"""A model from Python source: finding, importing and constructing it."""
