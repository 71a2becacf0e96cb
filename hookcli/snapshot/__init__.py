"""`hookcli snapshot`: what a report shows of a model, as checks that hold today."""
