"""Find, import and construct a model from Python source."""
