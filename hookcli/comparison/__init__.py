"""Compare two reports: match their calls, and find the first difference."""
