"""How heads, experts and quantization blocks divide over GPUs, and whether there are enough of them."""
