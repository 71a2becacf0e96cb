"""A submodule."""
