"""Effects of metadata columns on the topic proportions of documents."""
