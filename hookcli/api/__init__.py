"""The Python API: the commands on live models, and hooks in a training loop."""
