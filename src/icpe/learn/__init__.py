"""How an explorer is trained."""
