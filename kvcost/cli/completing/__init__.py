"""Scripts for the Tab key, written from the parsers that read the commands."""
