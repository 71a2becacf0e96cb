"""YAML → plain data: a document with every value's line, and the shapes that values have."""
