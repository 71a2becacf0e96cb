"""Hook kinds: the table of all of them, and one file per family that attaches them."""
