"""What MODEL names, told by its path and content without torch."""
