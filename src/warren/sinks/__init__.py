"""What leaves Warren as data: samples of the snapshots, which a Spark query for each sink takes from the outbox."""
