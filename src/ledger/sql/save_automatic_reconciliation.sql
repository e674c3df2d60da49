-- save_automatic_reconciliation: keeps the report of a reconciliation that ran by itself, in the place of the last one of its kind.
-- In      sale, differences (JSON), repairs (JSON)
-- Out     nothing
-- Keeps   of the automatic reports of a sale the last without a difference and the last with one, however often it runs
WITH replaced AS (
  DELETE FROM reconciliations
  WHERE sale = $1 AND NOT final AND summary @> '{"automatic": true}' AND (differences = '[]') = ($2::jsonb = '[]')
)
INSERT INTO reconciliations (sale, differences, repairs, summary)
SELECT id, $2::jsonb, $3::jsonb, '{"automatic": true}' FROM sales WHERE id = $1
