"""Privacy claims about a deployment, the parameters of mechanisms, and the results of accountants."""
