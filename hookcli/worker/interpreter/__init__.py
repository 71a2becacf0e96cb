"""The Python that the worker runs in: which one, and why it cannot run hookcli."""
