"""Infer a batch for a model that declares none: guess from names, types and layers, then try.

A failed trial suggests repairs, which are tried next. Input and output are plain data: `search`
gets a function that tries a hypothesis, and returns every trial, so that the search can be shown.
"""
