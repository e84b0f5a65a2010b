"""The user's tables: nodes, edges, labels and features from CSV, TSV and Parquet files or from memory."""
