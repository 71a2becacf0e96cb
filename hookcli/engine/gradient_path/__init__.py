"""Where the path of a gradient ends: the operators whose results no longer require grad."""
