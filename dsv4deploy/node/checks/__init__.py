"""Health questions to a running server, one file each: what is asked, and how the answers are judged."""
