"""Training of models: planning, preparation of a run, and the training loop."""
