"""Images seen patch by patch: law, images and distortions."""
