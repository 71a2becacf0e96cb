"""Events as a table and as a tree."""
