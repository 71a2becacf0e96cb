"""Small trainings, healthy and faulty, as plain PyTorch loops."""
