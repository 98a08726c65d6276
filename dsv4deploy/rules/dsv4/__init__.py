"""What DeepSeek-V4 and V4.1 refuse, override or take otherwise than other models."""
