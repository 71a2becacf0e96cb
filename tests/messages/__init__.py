"""Every message that the package can produce, read from its source, and the rules for wording."""
