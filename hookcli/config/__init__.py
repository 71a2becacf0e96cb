"""Flags and YAML → `Spec`, the whole request as plain data. Torch-free."""
