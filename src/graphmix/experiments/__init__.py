"""The paper as data: specs, what they give, and how that compares."""
