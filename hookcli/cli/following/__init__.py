"""`hookcli follow` and `hookcli ask`: a training is looked at, and asked, while it runs."""
