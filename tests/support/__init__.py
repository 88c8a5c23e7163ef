"""What tests share: toy families, toy artifacts, random weights."""
