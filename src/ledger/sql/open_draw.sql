-- open_draw: writes the seed of a line's draw and what is promised of it, unless there is a draw.
-- In      sale, algorithm, seed, when it is sealed (ms), source of the beacon or null, its round or null
-- Keeps   a seed that is there stays: its commitment may be published. A draft has no draw
INSERT INTO line_draws (sale, algorithm, seed, commitment, seals_at, beacon_source, beacon_round)
SELECT id, $2, $3, sha256($3::bytea), to_timestamp($4::bigint / 1000.0), $5, $6 FROM sales WHERE id = $1 AND state <> 'draft'
ON CONFLICT (sale) DO NOTHING
