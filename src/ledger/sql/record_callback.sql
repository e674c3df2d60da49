-- record_callback: a provider's event was handled, and how. For people; the effect itself is idempotent by its reference.
-- In      provider, event id, reference, outcome
-- Out     nothing
-- Keeps   the first outcome of an event stands
INSERT INTO callbacks (provider, event, ref, outcome) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
