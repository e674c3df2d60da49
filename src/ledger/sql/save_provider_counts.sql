-- save_provider_counts: what a process has counted of payment providers, in the place of what it wrote before.
-- In      process, then for each provider: provider, counts (JSON) (arrays)
-- Out     nothing
-- Keeps   what is written is the whole count, never a difference: a repeated call changes nothing. Other processes that have written nothing for a
--         day are forgotten, so that the table holds those of a day
WITH gone AS (DELETE FROM provider_counts WHERE saved_at < clock_timestamp() - interval '1 day' AND process <> $1)
INSERT INTO provider_counts (process, provider, counts)
SELECT $1, n.provider, n.counts::jsonb FROM unnest($2::text[], $3::text[]) AS n (provider, counts)
ON CONFLICT (process, provider) DO UPDATE SET counts = excluded.counts, saved_at = clock_timestamp()
