"""How B of a diff runs the model of A in another way: by a parallel plan, or compiled."""
