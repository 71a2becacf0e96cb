"""What keeps a watched training cheap: steps that are not watched, and memory that is freed."""
