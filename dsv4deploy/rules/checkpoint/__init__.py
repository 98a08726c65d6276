"""Files of the model folder that are missing, cut short or of another kind than they say."""
