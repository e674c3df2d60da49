-- save_reconciliation: keeps a report for operators.
-- In      sale, final, differences (JSON), repairs (JSON), summary (JSON or null)
-- Keeps   one final report per sale
INSERT INTO reconciliations (sale, final, differences, repairs, summary) VALUES ($1, $2, $3::jsonb, $4::jsonb, $5::jsonb)
ON CONFLICT (sale) WHERE final DO NOTHING
