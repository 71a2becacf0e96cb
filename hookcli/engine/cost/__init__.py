"""The cost of a model: FLOPs of its operators, and the memory that training takes."""
