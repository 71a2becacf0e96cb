"""Parts that several formats share: text, grids, bars, headers, summaries."""
