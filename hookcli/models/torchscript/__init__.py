"""TorchScript: PyTorch takes no hooks on a scripted module, so its graphs are made to tell.

Operators of ours stand where every method begins and ends. They see the live values and the module
that runs, and may put others in their place.
"""
