"""How each family of hooks is attached, one a file."""
