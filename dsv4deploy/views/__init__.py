"""Values to text: terminal, JSON, Markdown."""
