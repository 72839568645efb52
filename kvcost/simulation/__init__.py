"""Small seeded simulations that check the closed forms; each answer comes with its interval."""
