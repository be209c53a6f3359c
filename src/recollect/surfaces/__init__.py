"""How the outside speaks to the engine: parse, call, render. No SQL and no scoring."""
