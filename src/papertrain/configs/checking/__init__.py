"""How files become documents, documents meet rules, and rules become findings with patches."""
