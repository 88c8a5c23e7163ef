"""The learner of the paper, as printed: the reference ours is measured against."""
