-- save_refusal_counts: whom a process has turned away lately, in the place of what it wrote before.
-- In      process, counts (JSON)
-- Out     nothing
-- Keeps   what is written is the whole count, never a difference: a repeated call changes nothing. Other processes that have written nothing for
--         an hour are forgotten
WITH gone AS (DELETE FROM refusal_counts WHERE saved_at < clock_timestamp() - interval '1 hour' AND process <> $1)
INSERT INTO refusal_counts (process, counts) VALUES ($1, $2::jsonb)
ON CONFLICT (process) DO UPDATE SET counts = excluded.counts, saved_at = clock_timestamp()
