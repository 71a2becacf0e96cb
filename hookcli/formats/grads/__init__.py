"""The document of grads: gradients as tables, and as a tree."""
