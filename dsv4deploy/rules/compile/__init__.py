"""torch.compile and CUDA graphs: what is captured, what is compiled inside, and what that does."""
