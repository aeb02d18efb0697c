"""Arguments -> one call -> exit code. No logic lives here."""
