"""Measures activations during a run: at the outputs of layers, and in the autograd graph."""
