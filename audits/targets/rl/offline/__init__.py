"""The audit of private offline learning."""
