"""Training rules of other papers, one file each: how a method brings its own step."""
