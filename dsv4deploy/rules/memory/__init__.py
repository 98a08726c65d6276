"""What plainly cannot fit, and settings that eat the room that is left."""
