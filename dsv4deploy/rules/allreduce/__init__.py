"""All-reduce kernels beside NCCL, and what they need."""
