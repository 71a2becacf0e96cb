"""Rules about training: the loss, optimizer steps, and how the model behaves in each mode."""
