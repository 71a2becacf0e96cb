"""Rules about activations: units that are dead, saturated, constant, masked or out of range."""
