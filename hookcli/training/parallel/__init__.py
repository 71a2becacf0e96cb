"""What a rank of several has: its parts of sharded parameters, and digests of replicated ones."""
