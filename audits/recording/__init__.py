"""Records of an audit: evidence, witnesses and replays."""
