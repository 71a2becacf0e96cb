"""The journal of a training: what was observed so far, in a file that grows as the script runs."""
