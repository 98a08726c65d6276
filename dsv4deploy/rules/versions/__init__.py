"""Packages, drivers and tool chains that do not fit each other or the card."""
