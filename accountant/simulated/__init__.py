"""Privacy by simulation: answers that hold with a stated confidence, where no certified route exists."""
