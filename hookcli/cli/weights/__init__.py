"""Commands on files of weights: their flags, and the reports that they make."""
