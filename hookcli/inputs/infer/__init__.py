"""A batch for a model that declares none: guessed from names, types and layers, mended by trial.

Plain data in, plain data out: `search` gets a function that tries a hypothesis, and returns every
trial that it made, so that the way to a batch can be shown.
"""
