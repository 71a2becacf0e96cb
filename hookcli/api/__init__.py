"""The Python API: hookcli's commands for models in memory, and hooks in a training loop."""
