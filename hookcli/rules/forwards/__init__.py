"""Rules about further forwards: with one sample, other positions, or in float16."""
