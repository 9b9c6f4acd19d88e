"""Private reinforcement learning: learners that release policies or tables while users arrive one by one."""
