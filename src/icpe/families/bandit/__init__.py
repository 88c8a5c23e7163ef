"""What bandits share: the laws of their arms, sums of rewards, bounds, words."""
