"""Records: one root and one optimizer each, with what was seen of their steps."""
