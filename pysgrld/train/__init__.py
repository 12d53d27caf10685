"""Training: plan, prepare, and the loop."""
