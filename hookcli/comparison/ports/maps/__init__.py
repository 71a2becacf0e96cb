"""Which weights of one implementation make those of another: maps, given or inferred."""
