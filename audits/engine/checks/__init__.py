"""What is checked of a mechanism before and after it is bet on: repeats, dependence."""
