"""Events and calls as they ran in time."""
