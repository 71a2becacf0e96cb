"""One run of a model: prepares it, runs its phases, records what happens, assembles the report."""
