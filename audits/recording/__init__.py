"""Records of an audit: the evidence (its result), the witness (data that repeat the audit), and replays."""
