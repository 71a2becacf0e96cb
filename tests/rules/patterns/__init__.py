"""Rules about patterns in the code, the graph and the modules."""
