"""YAML text → nodes with their lines, and the parsers that every section is made of."""
