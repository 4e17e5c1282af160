"""Head and tail offsets of every topic partition, as a Spark data source."""
