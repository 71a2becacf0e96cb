"""Hooks that torch.compile traces, whose figures compiled code writes."""
