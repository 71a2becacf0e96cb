"""The page: one self-contained html file per report, and the data that its scripts read."""
