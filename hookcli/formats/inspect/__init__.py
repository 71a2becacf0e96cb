"""The document of inspect: layers as a table, and as a tree."""
