"""Compiles a model, compares it with the eager one, and tells what the compiler did."""
