"""What an audit leaves behind: evidence, witnesses, replays."""
