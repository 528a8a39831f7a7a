"""Proofs and figures of the sessions tier, sized by arguments."""
