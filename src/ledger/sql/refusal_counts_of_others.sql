-- refusal_counts_of_others: whom all processes but one have turned away lately, those that wrote last first.
-- In      process
-- Out     counts
-- Keeps   at most 200 rows, by an index: a process that starts again and again leaves a name each time
SELECT counts FROM refusal_counts
WHERE process <> $1 AND saved_at >= clock_timestamp() - interval '20 minutes'
ORDER BY saved_at DESC LIMIT 200
