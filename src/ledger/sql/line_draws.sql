-- line_draws: how far draws are.
-- In      sales
-- Out     a row per draw that is opened; the seed only if it is drawn
SELECT sale, algorithm, commitment, seals_at, beacon_source, beacon_round, joins, leaves, root, beacon_value, beacon_signature, drawn_at,
  CASE WHEN drawn_at IS NOT NULL THEN seed END AS seed
FROM line_draws WHERE sale = ANY($1::bigint[])
