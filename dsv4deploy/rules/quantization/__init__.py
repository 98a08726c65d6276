"""How weights are stored, what the flags claim, and which runner can take them."""
