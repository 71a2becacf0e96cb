"""The report of a training script: hookcli.run/1."""
