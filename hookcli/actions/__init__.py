"""What a hook does when it fires, and the functions that build it."""
