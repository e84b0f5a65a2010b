"""The paper's tables and figures as data: specs, their results, and comparison with the paper."""
