"""Routing policies: what a burst waits under each, in closed form, and the rule that chooses."""
