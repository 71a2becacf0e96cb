"""Event files for TensorBoard: scalars, histograms, the graph of modules and the report as text."""
