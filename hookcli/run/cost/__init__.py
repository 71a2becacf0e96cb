"""Operators counted: FLOPs, and the memory that training takes."""
