"""Processes that train one chain together: each samples some documents of a minibatch."""
