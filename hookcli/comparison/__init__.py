"""Two reports → a diff: which calls belong together, and where they first differ."""
