"""Attaches to CUDA graphs: to each graph that a run captures or replays, or to all at once."""
