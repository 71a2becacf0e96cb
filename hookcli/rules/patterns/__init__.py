"""Rules about mistakes in the code of a model, in its graph and in its modules."""
