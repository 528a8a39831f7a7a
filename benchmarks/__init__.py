"""Measurements: of counting, of decisions on real transcripts, of speed and memory."""
