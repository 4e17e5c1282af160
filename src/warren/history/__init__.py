"""What the history says: Spark SQL over the Parquet tables, as rows, CSV, JSON and pictures."""
