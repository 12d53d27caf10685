"""Training of models: planning, preparation, and the training loop."""
