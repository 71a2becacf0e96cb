"""Pictures of reports as SVG: gradients as bars and as a heat map, modules as a diagram."""
