-- index_progress: how far the builds of indexes on this database have come.
-- Out     phase, done and total: what the phase counts, blocks or rows; no row while none is built
SELECT phase, greatest(blocks_done, tuples_done) AS done, greatest(blocks_total, tuples_total) AS total
FROM pg_stat_progress_create_index WHERE datname = current_database()
