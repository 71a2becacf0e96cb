"""The request as plain data: what to run, with which hooks, inputs and checks."""
