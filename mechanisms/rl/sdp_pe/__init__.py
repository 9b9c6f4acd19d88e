"""SDP-PE: policy elimination in the shuffle model."""
