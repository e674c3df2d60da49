-- record_callback: records a provider's event and what came of it. For operators to read: the effect itself is idempotent by its reference.
-- In      provider, event id, reference, outcome
-- Keeps   the first outcome of an event is kept
INSERT INTO callbacks (provider, event, ref, outcome) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
