"""Whether a `.pt2` can act when torch opens it, told before torch does."""
