"""The page: sessions in a browser, drawn by the server, served by the same app."""
