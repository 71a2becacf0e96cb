"""Compare two implementations of a model whose modules have other names."""
