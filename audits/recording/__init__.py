"""Records of an audit: evidence, witnesses, replays."""
