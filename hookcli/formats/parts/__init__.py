"""What several formats are made of: text, grids, bars, headers, summaries."""
