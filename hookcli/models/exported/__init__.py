"""Programs saved by `torch.export.save` (.pt2), run as the modules that they came from."""
