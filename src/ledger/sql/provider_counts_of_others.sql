-- provider_counts_of_others: what all processes but one have counted of payment providers, those that wrote last first.
-- In      process
-- Out     provider, counts
-- Keeps   at most 500 rows, by an index: a process that starts again and again leaves a name each time
SELECT provider, counts FROM provider_counts
WHERE process <> $1 AND saved_at >= clock_timestamp() - interval '1 day'
ORDER BY saved_at DESC LIMIT 500
