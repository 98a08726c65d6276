"""How GPUs reach each other: P2P, IOMMU, ACS, network devices, and what NCCL is told of them."""
