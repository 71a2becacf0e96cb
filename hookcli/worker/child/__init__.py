"""The side of the worker that imports torch: the only one."""
