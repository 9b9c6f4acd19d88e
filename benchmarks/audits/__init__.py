"""The audit engine measured: false alarms, samples beside limits, peers, overhead; see docs/audits.md."""
