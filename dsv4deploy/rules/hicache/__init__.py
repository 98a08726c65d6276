"""The hierarchical cache in host memory and storage."""
