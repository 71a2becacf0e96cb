"""Shapes in the autograd graph of a loss that show a mistake."""
